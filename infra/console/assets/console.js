// The console: signs in, chooses a sale, follows its frames.

import { Board } from './cards.js'
import { find, make, say } from './dom.js'
import { parked } from './card_parked.js'
import { books, changes, payments, workers } from './cards_office.js'
import { funnel, hotKeys, sales } from './cards_sale.js'
import { headline } from './headline.js'
import { ask, follow, Refused } from './net.js'
import { enter, keep, leave, mayWrite } from './session.js'
import { shards } from './card_shards.js'
import { throttles } from './card_throttles.js'

const STORE = 'onsale.staff'
const CARDS = [funnel, sales, books, shards, throttles, hotKeys, workers, parked, payments, changes]

let following = null
let board = null
let latest = null

function askForToken(sentence = '') {
  following?.abort()
  for (const id of ['headline', 'leave']) find(id).hidden = true
  document.querySelector('.choice').hidden = true
  find('cards').replaceChildren()
  say(find('state'), '')
  say(find('refusal'), sentence)
  find('enter').hidden = false
  find('token').focus()
}

async function open(token) {
  let sold
  try {
    sold = (await ask('/v1/staff/sales', { token })).sales
  } catch (error) {
    if (error instanceof Refused) leave(STORE)
    askForToken(error.message)
    return
  }
  keep(STORE, token)
  find('enter').hidden = true
  find('leave').hidden = false
  if (!sold.length) {
    find('headline').replaceChildren(make('p', {}, 'There is no sale yet: onsale sale create NAME --seats 1000'))
    find('headline').hidden = false
    setTimeout(() => open(token), 5000)
    return
  }
  choose(sold, token)
}

function choose(sold, token) {
  const select = find('event')
  const wanted = new URLSearchParams(location.search).get('event')
  const newest = [...sold].sort((one, other) => other.opens_at.localeCompare(one.opens_at))
  select.replaceChildren(...newest.map((sale) => make('option', { value: sale.event_id }, sale.name)))
  if (newest.some((sale) => sale.event_id === wanted)) select.value = wanted
  select.onchange = () => watch(select.value, token)
  document.querySelector('.choice').hidden = false
  watch(select.value, token)
}

async function watch(eventId, token) {
  following?.abort()
  following = new AbortController()
  const { signal } = following
  const address = new URL(location.href)
  address.searchParams.set('event', eventId)
  history.replaceState(null, '', address)
  const context = { token, eventId, mayWrite: mayWrite(token), signal }
  board = new Board(find('cards'), CARDS, context)
  latest = null
  say(find('state'), 'Connecting …')
  try {
    await follow(`/v1/staff/events/${encodeURIComponent(eventId)}/frame`, {
      token,
      signal,
      onFrame: (frame) => show(frame, context),
      onTrouble: (sentence) => headline(find('headline'), latest, sentence),
    })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.status === 401 || error.status === 403) leave(STORE)
    askForToken(error.message)
  }
}

function show(frame, context) {
  if (context.signal.aborted) return
  latest = frame
  board.show(frame)
  headline(find('headline'), frame)
  const paused = frame.allocation_paused ? ', allocation paused' : ''
  say(find('state'), `${frame.status}${paused} · ${context.mayWrite ? 'may act' : 'read only'}`)
}

find('enter').addEventListener('submit', (event) => {
  event.preventDefault()
  open(find('token').value.trim())
  find('token').value = ''
})
find('leave').addEventListener('click', () => {
  leave(STORE)
  askForToken('You have signed out.')
})
setInterval(() => latest && board.tick(), 1000)

const token = enter(STORE)
if (token) open(token)
else askForToken()
