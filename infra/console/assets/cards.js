// A card's frame: title, age, twin; what stands inside comes from the card's own module.

import { ask } from './net.js'
import { find, make, say } from './dom.js'
import { ago } from './text.js'

// Figures older than this are marked, whatever the reason.
const STALE_S = 15

/** Builds the cards once, then fills them with every frame; ages go on between frames. */
export class Board {
  constructor(place, modules, context) {
    this.context = context
    this.cards = modules.map((module) => new Shell(module, context))
    place.replaceChildren(...this.cards.map((card) => card.element))
    // How far this machine's clock is ahead of the server's.
    this.aheadMs = 0
  }

  show(frame) {
    this.aheadMs = Date.now() - Date.parse(frame.server_time)
    for (const card of this.cards) card.show(frame)
    this.tick()
  }

  tick() {
    const nowMs = Date.now() - this.aheadMs
    for (const card of this.cards) card.tick(nowMs)
  }
}

class Shell {
  constructor({ name, title, wide, build }, context) {
    this.name = name
    this.age = make('span', { class: 'age quiet' })
    this.trouble = make('p', { class: 'trouble warn', hidden: true })
    this.twin = make('a', { href: '#', onclick: (event) => this.showTwin(event) }, 'JSON')
    this.twin.setAttribute('aria-label', `${title} as JSON`)
    const body = make('div', { class: 'body' })
    const id = `card-${name}`
    this.element = make(
      'section',
      { class: wide ? 'card wide' : 'card', 'aria-labelledby': id, 'data-card': name },
      make('header', {}, make('h2', { id }, title), this.age, this.twin),
      this.trouble,
      body,
    )
    this.context = context
    this.update = build(body, context)
  }

  show(frame) {
    const card = frame[this.name]
    this.asOf = card.as_of
    this.twin.href = `/v1/staff/events/${frame.event_id}/frame/${this.name}`
    say(this.trouble, card.trouble ?? '')
    this.trouble.hidden = !card.trouble
    if (card.as_of) this.update(card, frame)
  }

  tick(nowMs) {
    const seconds = this.asOf ? Math.max(0, (nowMs - Date.parse(this.asOf)) / 1000) : Infinity
    say(this.age, this.asOf ? ago(seconds) : 'no figures yet')
    this.element.classList.toggle('stale', seconds > STALE_S)
  }

  async showTwin(event) {
    event.preventDefault()
    const address = this.twin.getAttribute('href')
    say(find('twin-address'), address)
    say(find('twin-text'), 'Asking …')
    find('twin').showModal()
    try {
      say(find('twin-text'), JSON.stringify(await ask(address, { token: this.context.token }), null, 2))
    } catch (error) {
      say(find('twin-text'), error.message)
    }
  }
}
