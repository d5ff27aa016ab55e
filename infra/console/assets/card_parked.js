// Orders set aside for a person: found by a filter, counted first, taken up again only when confirmed.

import { find, make, rows, say, table } from './dom.js'
import { ask } from './net.js'
import { ago, counted } from './text.js'

const LIST = '/v1/staff/parked'
const SHOWN = 20
// One page a second: a redrive must not become a stampede of its own.
const PAGE = 50
const PACE_MS = 1000

export const parked = {
  name: 'parked',
  title: 'Set aside',
  build(place, context) {
    const view = draw(place, context)
    let known = -1
    const refresh = async () => {
      try {
        const page = await ask(`${LIST}?${query(view, context)}`, { token: context.token, signal: context.signal })
        view.show(page)
      } catch (error) {
        if (!context.signal.aborted) say(view.told, error.message)
      }
    }
    view.filter.addEventListener('change', refresh)
    view.all.addEventListener('click', async () => {
      await redriveAll(view, context)
      refresh()
    })
    view.redriveOne = async (order) => {
      await redriveOne(order, view, context)
      refresh()
    }
    return (card) => {
      say(view.summary, card.parked ? `${counted(card.parked, 'order waits', 'orders wait')} for a person.` : 'No order waits for a person.')
      view.tools.hidden = !card.parked
      view.element.hidden = !card.parked
      if (card.parked !== known) {
        known = card.parked
        if (card.parked) refresh()
      }
    }
  },
}

function draw(place, context) {
  const { element, body } = table('Orders set aside', 'Order', 'Why', 'Since', '')
  const view = {
    element,
    summary: make('p'),
    told: make('p', { class: 'small', role: 'status' }),
    filter: make('input', { type: 'search', id: 'parked-filter', placeholder: 'part of the error' }),
    all: make('button', { type: 'button', class: 'plain' }, 'Take up all that fit'),
    tools: make('div', { class: 'toolbar', hidden: true }),
    redriveOne: null,
  }
  view.tools.append(make('label', { for: 'parked-filter' }, 'Filter', view.filter))
  if (context.mayWrite) view.tools.append(view.all)
  element.hidden = true
  place.append(view.summary, view.tools, element, view.told)
  view.show = (page) => {
    rows(body, page.orders.map((order) => line(order, view, context)))
    const more = page.cursor ? 'There are more; the filter narrows them down.' : ''
    const none = page.orders.length ? '' : 'None fits the filter.'
    const unread = page.unreadable.length ? `${counted(page.unreadable.length, 'order')} cannot be read.` : ''
    say(view.told, [none, more, unread].filter(Boolean).join(' '))
  }
  return view
}

function line(order, view, context) {
  const act = make('button', { type: 'button', class: 'plain', onclick: () => view.redriveOne(order) }, 'Take up')
  act.setAttribute('aria-label', `Take up order ${order.order_id} again`)
  return [
    make('code', { title: order.order_id }, `${order.order_id.slice(0, 10)}…`),
    `${order.parked.error} (${order.parked.duty}, ${order.status})`,
    ago(order.parked.age_s),
    context.mayWrite ? act : '',
  ]
}

function query(view, context) {
  const wanted = new URLSearchParams({ event_id: context.eventId, limit: SHOWN })
  if (view.filter.value.trim()) wanted.set('error', view.filter.value.trim())
  return wanted
}

async function redriveOne(order, view, context) {
  const question = `Order ${order.order_id} goes back to where it stood (${order.parked.duty}). This is written to the audit trail.`
  if (!(await confirmed('Take this order up again?', question, 'Take it up'))) return
  const body = { order_id: order.order_id, filter: { event_id: order.event_id } }
  await told(view, async () => {
    await post(body, context)
    return 'Taken up again.'
  })
}

async function redriveAll(view, context) {
  await told(view, async () => {
    const filter = { event_id: context.eventId }
    if (view.filter.value.trim()) filter.error = view.filter.value.trim()
    const { matched } = await walk({ filter, dry_run: true }, context)
    if (!matched) return 'None fits.'
    const question = `${counted(matched, 'order goes', 'orders go')} back to where they stood, ${PAGE} a second. This is written to the audit trail.`
    if (!(await confirmed(`Take up ${counted(matched, 'order')} again?`, question, 'Take them up'))) return ''
    const { redriven } = await walk({ filter, dry_run: false }, context)
    return `${counted(redriven, 'order')} taken up again.`
  })
}

async function walk(body, context) {
  const total = { matched: 0, redriven: 0 }
  let cursor
  do {
    const page = await post({ ...body, limit: PAGE, ...(cursor ? { cursor } : {}) }, context)
    total.matched += page.matched
    total.redriven += page.redriven
    cursor = page.cursor
    if (cursor) await new Promise((resolve) => setTimeout(resolve, PACE_MS))
  } while (cursor)
  return total
}

const post = (body, { token, signal }) => ask(`${LIST}/redrive`, { token, signal, method: 'POST', body })

async function told(view, work) {
  say(view.told, 'Asking …')
  try {
    say(view.told, await work())
  } catch (error) {
    say(view.told, error.message)
  }
}

/** Ask before anything is changed; Escape and `Leave it` mean no. */
function confirmed(title, text, yes) {
  const dialog = find('ask')
  say(find('ask-title'), title)
  say(find('ask-text'), text)
  say(find('ask-yes'), yes)
  return new Promise((resolve) => {
    dialog.returnValue = 'no'
    dialog.onclose = () => resolve(dialog.returnValue === 'yes')
    find('ask-yes').onclick = () => dialog.close('yes')
    find('ask-no').onclick = () => dialog.close('no')
    dialog.showModal()
    find('ask-no').focus()
  })
}
