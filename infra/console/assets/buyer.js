// The buyer's page: countdown, one button, the truth in a sentence.

import { clockFace, countDown } from './countdown.js'
import { find, make, say } from './dom.js'
import { ask, follow, Refused } from './net.js'
import { Purchase } from './purchase.js'
import { claims, enter, leave } from './session.js'
import { count, counted, lasting } from './text.js'

const STORE = 'onsale.buyer'
// Whoever was ready before the opening is let out within this time after it, not all in the same millisecond.
const JITTER_MS = 2000
const FINAL = ['confirmed', 'rejected', 'expired', 'cancelled', 'refunded', 'superseded']

const eventId = decodeURIComponent(location.pathname.split('/')[2])
const token = enter(STORE)
let sale = null
let aheadMs = 0
let armed = false
let order = null
let live = null

const serverNow = () => Date.now() - aheadMs
const untilOpening = () => Date.parse(sale.opens_at) - serverNow()

const purchase = new Purchase(eventId, claims(token ?? '').sub ?? '', token, {
  onOrder: (fresh) => {
    order = fresh
    showOrder()
  },
  onTrouble: (sentence) => say(find('trouble'), sentence),
  onRefused: refused,
})

async function start() {
  while (!sale) {
    try {
      await meetSale()
    } catch (error) {
      say(find('trouble'), error.message)
      if (error instanceof Refused) return
      await new Promise((resolve) => setTimeout(resolve, 1000 + Math.random() * JITTER_MS))
    }
  }
  listen()
  if (token && purchase.wish) {
    show('order')
    say(find('sentence'), 'Looking for your order …')
    await purchase.resume()
  }
}

async function meetSale() {
  sale = await ask(`/v1/events/${encodeURIComponent(eventId)}`)
  aheadMs = Date.now() - Date.parse(sale.server_time)
  document.title = `${sale.name} – tickets`
  say(find('name'), sale.name)
  say(find('trouble'), '')
  fillChoice()
  if (sale.status === 'not-on-sale-yet') countDown(untilOpening, tick)
  if (!(token && purchase.wish)) show('choice')
}

function tick(leftMs) {
  find('countdown').hidden = leftMs <= 0
  say(find('left'), clockFace(leftMs))
  if (leftMs > 0) return
  sale.status = 'open'
  describe()
  if (armed) setTimeout(send, Math.random() * JITTER_MS)
}

function show(which) {
  for (const id of ['choice', 'order']) find(id).hidden = id !== which
}

function fillChoice() {
  const first = sale.ticket_types.findIndex((type) => type.availability !== 'gone')
  find('types').replaceChildren(
    ...sale.ticket_types.map((type, n) => {
      const attributes = { type: 'radio', name: 'type', value: type.ticket_type_id, checked: n === Math.max(0, first) }
      const word = make('span', { class: 'quiet small', 'data-type': type.ticket_type_id }, type.availability)
      return make('label', {}, make('input', attributes), type.name, word, make('span', { class: 'price' }, type.price.text))
    }),
  )
  const most = Math.min(sale.max_per_order, sale.max_per_buyer ?? sale.max_per_order)
  find('quantity').replaceChildren(...Array.from({ length: most }, (_, n) => make('option', { value: n + 1 }, count(n + 1))))
  describe()
}

function chosen() {
  const id = find('choice').elements.type?.value
  return sale.ticket_types.find((type) => type.ticket_type_id === id) ?? sale.ticket_types[0]
}

/** Write what the button will do. */
function describe() {
  const type = chosen()
  const quantity = Number(find('quantity').value)
  const decimals = (type.price.text.split(' ')[0].split('.')[1] ?? '').length
  say(find('total'), `${counted(quantity, 'ticket')}: ${((type.price.minor * quantity) / 10 ** decimals).toFixed(decimals)} ${type.price.currency}`)
  const [label, hint] = button(type)
  say(find('buy'), label)
  say(find('hint'), hint)
  find('buy').disabled = !token || armed || !['open', 'not-on-sale-yet'].includes(sale.status)
}

function button(type) {
  if (!token) return ['Order', 'Open this page by the link of your ticket shop: it signs you in.']
  if (armed) return ['You are ready', `Your order goes out within ${JITTER_MS / 1000} seconds of the opening, by itself. Keep this page open.`]
  if (sale.status === 'not-on-sale-yet') return ['Be ready for the opening', 'Early or late within the first seconds makes no difference you would feel.']
  if (sale.status !== 'open') return ['Order', { paused: 'The sale is paused; it will go on shortly.', closed: 'The sale has closed.', cancelled: 'The event was cancelled.' }[sale.status]]
  if (type.availability === 'gone') return ['Order', 'These tickets are gone at the moment.']
  if (type.availability === 'waiting') return ['Order', 'All seats are held; some may come back. You would wait in line.']
  return ['Order', 'Nothing is charged before seats are held for you.']
}

function send() {
  armed = false
  const line = { ticket_type_id: chosen().ticket_type_id, quantity: Number(find('quantity').value) }
  show('order')
  say(find('sentence'), 'Your order is on its way …')
  purchase.want({ lines: [line], payment_method: find('method').value })
}

function showOrder() {
  show('order')
  say(find('sentence'), order.sentence)
  const done = FINAL.includes(order.status)
  const declined = order.status === 'held' && order.decline_code
  say(find('line'), lineSentence())
  find('tickets').hidden = !order.tickets?.length
  find('tickets').replaceChildren(...(order.tickets ?? []).map((code) => make('li', {}, make('code', {}, code))))
  find('try').hidden = !declined || !order.tries_left
  find('cancel').hidden = done
  find('again').hidden = !done
  say(find('facts'), `${order.amount.text} · order ${order.order_id}`)
}

function lineSentence() {
  if (order.status === 'held' && order.hold_ends_at) {
    const left = (Date.parse(order.hold_ends_at) - serverNow()) / 1000
    return left > 0 ? `The seats are yours for another ${lasting(left)}.` : ''
  }
  if (order.status !== 'queued') return ''
  const place = order.place ? `About ${count(order.place.ahead)} before you, ${lasting(order.place.age_s)} ago.` : ''
  const turn = live?.line_at && Date.parse(live.line_at) < Date.parse(order.accepted_at)
  return turn && live.drained_per_s ? `${place} ${count(Math.round(live.drained_per_s))} are served a second.` : place
}

function refused(error) {
  if (error.status === 401) {
    leave(STORE)
    say(find('trouble'), 'You are no longer signed in. Open this page again by the link of your ticket shop; your order keeps its place.')
    return
  }
  if (order) {
    say(find('trouble'), error.message)
    // The order went another way while the button was pressed: it is met again as it stands.
    if (error.status === 409) purchase.resume()
    return
  }
  purchase.forget()
  show('choice')
  say(find('trouble'), error.message)
}

async function listen() {
  try {
    await follow(`/v1/events/${encodeURIComponent(eventId)}/live`, {
      signal: new AbortController().signal,
      onFrame: heard,
      // Whatever matters is told by the order's own answers.
      onTrouble: () => say(find('live'), ''),
    })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
  }
}

function heard(frame) {
  live = frame
  const news = sale.status !== frame.status && !(sale.status === 'open' && frame.status === 'not-on-sale-yet')
  if (news) sale.status = frame.status
  for (const type of sale.ticket_types) type.availability = frame.availability[type.ticket_type_id] ?? type.availability
  for (const word of find('types').querySelectorAll('[data-type]')) say(word, frame.availability[word.dataset.type] ?? '')
  const waiting = frame.waiting ? `${counted(frame.waiting, 'order')} in line.` : 'Nobody waits in line.'
  say(find('live'), frame.status === 'open' ? waiting : '')
  if (!find('choice').hidden) describe()
  if (order?.status === 'queued' || order?.status === 'held') say(find('line'), lineSentence())
}

find('choice').addEventListener('change', describe)
find('choice').addEventListener('submit', (event) => {
  event.preventDefault()
  if (sale.status === 'not-on-sale-yet') {
    armed = true
    describe()
  } else send()
})
find('try').addEventListener('click', () => purchase.tryAgain(order, 'pm_card_visa'))
find('cancel').addEventListener('click', () => purchase.cancel(order))
find('again').addEventListener('click', async () => {
  purchase.forget()
  order = null
  await meetSale()
})

await start()
