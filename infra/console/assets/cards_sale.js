// How the sale goes: the funnel, the seats, what is hot.

import { bar, make, rows, say, table } from './dom.js'
import { count, counted, lasting, percent, words } from './text.js'

const AFTER = ['rejected', 'expired', 'cancelled', 'refunded', 'superseded']

export const funnel = {
  name: 'funnel',
  title: 'Orders',
  build(place) {
    const { element, body } = table('Orders by where they stand', 'Step', 'Orders', '')
    element.classList.add('funnel')
    const notes = make('ul', { class: 'notes quiet' })
    place.append(element, notes)
    return (card) => {
      const status = card.by_status ?? {}
      const most = Math.max(card.accepted, 1)
      const steps = [
        ['accepted', card.accepted, ''],
        ['in line', status.queued ?? 0, ''],
        ['held', status.held ?? 0, ''],
        ['confirmed', status.confirmed ?? 0, 'good'],
        ...AFTER.filter((name) => status[name]).map((name) => [name, status[name], '']),
      ]
      rows(body, steps.map(([name, orders, kind]) => [name, count(orders), bar(orders / most, kind)]))
      notes.replaceChildren(...told(card).map((text) => make('li', {}, text)))
    }
  },
}

function told(card) {
  const refused = Object.entries(card.refused ?? {}).sort((one, other) => other[1] - one[1])
  const sentences = []
  if (card.waiting) {
    const pace = card.drained_per_s ? `; ${count(Math.round(card.drained_per_s))} leave the line a second` : ''
    sentences.push(`${counted(card.waiting, 'order')} in line${pace}.`)
  }
  sentences.push(`The door was asked ${counted(card.asked, 'time')} since it started, for all sales.`)
  if (refused.length) {
    sentences.push(`It refused: ${refused.map(([why, times]) => `${words(why)} ${count(times)}`).join(' · ')}.`)
  }
  if (card.repeated) sentences.push(`${counted(card.repeated, 'request')} met their own first attempt.`)
  return sentences
}

export const sales = {
  name: 'sales',
  title: 'Seats and ticket types',
  build(place) {
    const pools = table('Seats by pool', 'Pool', 'Taken', '')
    const types = table('Ticket types', 'Ticket type', 'Price', 'To buyers')
    place.append(pools.element, make('br'), types.element)
    return (card) => {
      rows(
        pools.body,
        card.pools.map((pool) => [
          pool.pool_id,
          `${count(pool.taken)} of ${count(pool.capacity)}`,
          bar(pool.taken / pool.capacity, pool.sold_out ? 'good' : ''),
        ]),
      )
      rows(
        types.body,
        card.types.map((type) => [
          type.shares_pool_with.length ? `${type.name} (seats shared with ${type.shares_pool_with.join(', ')})` : type.name,
          type.price.text,
          type.availability,
        ]),
      )
    }
  },
}

export const hotKeys = {
  name: 'hot_keys',
  title: 'Hot keys',
  build(place) {
    const summary = make('p', { class: 'quiet small' })
    const keys = table('The hottest keys', 'Key', 'Writes', 'Share')
    const buyers = table('The busiest buyers', 'Buyer', 'Writes', 'Share')
    const notes = make('ul', { class: 'notes' })
    place.append(summary, keys.element, make('br'), buyers.element, notes)
    return (card) => {
      const even = card.max_over_mean ? `; the fullest shard has ${card.max_over_mean.toFixed(2)} times the mean` : ''
      say(summary, `${counted(card.writes, 'write')} in the last ${lasting(card.over_s)}${even}.`)
      for (const [{ body }, names] of [
        [keys, card.keys],
        [buyers, card.buyers],
      ]) {
        rows(body, names.map((hot) => [hot.name, count(hot.writes), share(hot)]))
      }
      const advice = [...(card.uneven ? ['The shards are used unevenly, more than chance explains.'] : []), ...card.advice]
      notes.replaceChildren(...advice.map((text) => make('li', { class: 'warn' }, text)))
    }
  },
}

function share(hot) {
  const text = percent(hot.share)
  return hot.above_share ? make('strong', { title: 'More than a tenth of all writes' }, text) : text
}
