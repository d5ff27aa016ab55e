// The back office: workers, payments, whether everything adds up, what staff did.

import { make, rows, say, table } from './dom.js'
import { ago, count, counted, lasting, timeOfDay, words } from './text.js'

export const workers = {
  name: 'workers',
  title: 'Workers',
  build(place) {
    const { element, body } = table('Workers and what falls to them of this sale', 'Worker', 'Heartbeat', 'Shards', 'Slices')
    place.append(element)
    return (card) => {
      const crew = card.workers.map((worker) => [
        worker.name,
        worker.live ? 'lives' : make('span', { class: 'warn' }, `silent ${lasting(worker.silent_s)}`),
        make('span', { title: worker.shards.join(', ') }, count(worker.shards.length)),
        worker.slices.join(', ') || '–',
      ])
      rows(body, crew.length ? crew : [['none', '', '', '']])
    }
  },
}

export const payments = {
  name: 'payments',
  title: 'Payments',
  build(place) {
    const books = make('p')
    const { element, body } = table('Calls to the payment service', 'Call', 'Answers')
    const notices = make('p', { class: 'quiet small' })
    place.append(books, element, notices)
    return (card, frame) => {
      say(books, reconciled(card, frame))
      books.className = card.for_a_person ? 'warn' : ''
      element.hidden = !Object.keys(card.calls).length
      rows(body, Object.entries(card.calls).map(([call, outcomes]) => [words(call), listed(outcomes)]))
      say(notices, Object.keys(card.notices).length ? `News from the service: ${listed(card.notices)}.` : '')
    }
  },
}

function reconciled(card, frame) {
  if (!card.reconciled_at) return 'Never reconciled: onsale reconcile compares our orders with the books.'
  const when = ago((Date.parse(frame.server_time) - Date.parse(card.reconciled_at)) / 1000)
  if (!card.open) return `Orders and books agreed ${when}.`
  const person = card.for_a_person ? `, ${count(card.for_a_person)} for a person` : ''
  return `${counted(card.open, 'difference')} left when reconciled ${when}${person}.`
}

const listed = (counts) => Object.entries(counts).map(([name, times]) => `${words(name)} ${count(times)}`).join(' · ')

export const books = {
  name: 'verify',
  title: 'Does it add up?',
  build(place) {
    const { element, body } = table('The sum of each pool', 'Pool', 'unassigned + unsold + taken + withheld', '')
    const checked = make('p', { class: 'small' })
    const verdicts = make('ul', { class: 'verdicts' })
    place.append(element, make('br'), checked, verdicts)
    return (card, frame) => {
      rows(body, frame.sales.pools.map(sum))
      say(checked, verified(card, frame))
      checked.className = `small ${card.good === false ? 'bad' : ''}`
      verdicts.replaceChildren(...Object.entries(card.invariants).map(verdict))
    }
  },
}

function sum(pool) {
  const parts = [pool.unassigned, pool.unsold, pool.taken, pool.withheld].map(count).join(' + ')
  const [kind, text] = { true: ['good', '✓ adds up'], false: ['bad', '✗ does not add up'] }[pool.balanced] ?? ['quiet', 'moving']
  return [pool.pool_id, `${parts} = ${count(pool.capacity)}`, make('strong', { class: kind }, text)]
}

function verified(card, frame) {
  if (!card.verified_at) return `Never verified: onsale verify ${frame.event_id}`
  const when = ago((Date.parse(frame.server_time) - Date.parse(card.verified_at)) / 1000)
  return card.good ? `Verified ${when}: nothing is broken.` : `Verified ${when}: something is broken.`
}

function verdict([name, truth]) {
  const [kind, mark] = { true: ['good', '✓'], false: ['bad', '✗'] }[truth] ?? ['quiet', '?']
  return make('li', { class: kind, title: truth }, `${name} ${mark}`, make('span', { class: 'unseen' }, ` ${truth}`))
}

export const changes = {
  name: 'changes',
  title: 'Changes by staff',
  build(place) {
    const { element, body } = table('The newest changes', 'When', 'Who', 'What')
    place.append(element)
    return (card) => {
      const made = card.changes.map((one) => [timeOfDay(one.at), one.who, `${words(one.action)}: ${one.subject}`])
      rows(body, made.length ? made : [['none yet', '', '']])
    }
  },
}
