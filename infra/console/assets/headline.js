// What needs somebody, in sentences; silence when all is well.

import { make } from './dom.js'
import { counted, lasting, percent } from './text.js'

// From here on a throttle rate is worth a word; the alarm rings at the same share.
const THROTTLES = 0.01

/** Write the headline of a frame; `lost` says why no newer one comes. */
export function headline(place, frame, lost = '') {
  const found = [...(lost ? [['warn', `${lost} What you see stands still.`]] : []), ...(frame ? worries(frame) : [])]
  const worst = found.some(([kind]) => kind === 'bad') ? 'alarms' : found.length ? 'warns' : ''
  const sentences = found.length ? found : [['good', 'All is quiet. Nothing needs you.']]
  const told = sentences.map(([kind, text]) => `${kind}${text}`).join('\n')
  place.hidden = false
  place.className = worst
  // Rewritten only when it changes: a screen reader reads every rewriting aloud.
  if (place.dataset.told === told) return
  place.dataset.told = told
  place.replaceChildren(...sentences.map(([kind, text]) => make('p', { class: kind }, text)))
}

function worries(frame) {
  return [...broken(frame), ...waiting(frame), ...strained(frame)]
}

function broken({ sales, verify }) {
  const found = (sales.pools ?? [])
    .filter((pool) => pool.balanced === false)
    .map((pool) => ['bad', `The seats of ${pool.pool_id} do not add up to its capacity. Stop the sale and look.`])
  const wrong = Object.entries(verify.invariants ?? {}).filter(([, truth]) => truth === 'false')
  if (wrong.length) found.push(['bad', `The last verification found ${wrong.map(([name]) => name).join(', ')} broken.`])
  return found
}

function waiting({ parked, payments }) {
  const found = []
  if (parked.parked) found.push(['warn', `${counted(parked.parked, 'order waits', 'orders wait')} for a person.`])
  if (payments.for_a_person) {
    found.push(['warn', `${counted(payments.for_a_person, 'payment differs from its order', 'payments differ from their orders')}.`])
  }
  return found
}

function strained(frame) {
  const found = []
  const { throttles, workers } = frame
  if (throttles.recent_rate >= THROTTLES) {
    found.push(['warn', `${percent(throttles.recent_rate)} of the attempts at the store were throttled in the last minute.`])
  }
  const crew = workers.workers ?? []
  if (workers.as_of && !crew.some((worker) => worker.live)) {
    found.push(['warn', 'No worker lives: orders wait until one is started.'])
  }
  for (const worker of crew.filter((one) => !one.live)) {
    found.push(['warn', `${worker.name} has been silent for ${lasting(worker.silent_s)}; the others do its work.`])
  }
  const silent = new Set(CARDS.map((name) => frame[name].trouble).filter(Boolean))
  for (const sentence of silent) found.push(['warn', sentence])
  return found
}

const CARDS = ['funnel', 'throttles', 'shards', 'hot_keys', 'sales', 'workers', 'parked', 'payments', 'verify', 'changes']
