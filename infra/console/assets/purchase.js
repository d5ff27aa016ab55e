// One order, from the press of the button to its end, over reloads of the page.

import { ask, Later, Refused } from './net.js'

const MIN_POLL_MS = 1000

/**
 * What was wanted is kept in the browser before it is sent, under an idempotency key of its own: however often the page
 * is reloaded or an answer is lost, sending it again meets the first attempt.
 */
export class Purchase {
  constructor(eventId, buyer, token, { onOrder, onTrouble, onRefused }) {
    this.place = `onsale.order.${eventId}.${buyer}`
    this.orders = `/v1/events/${encodeURIComponent(eventId)}/orders`
    this.token = token
    this.onOrder = onOrder
    this.onTrouble = onTrouble
    this.onRefused = onRefused
    this.running = 0
  }

  /** The wish that is under way, or null. */
  get wish() {
    return JSON.parse(localStorage.getItem(this.place) ?? 'null')
  }

  want(body) {
    localStorage.setItem(this.place, JSON.stringify({ key: crypto.randomUUID(), body }))
    return this.resume()
  }

  forget() {
    this.running += 1
    localStorage.removeItem(this.place)
  }

  /** Place the order, or meet it again, then follow it to its end. */
  async resume() {
    const { key, body } = this.wish
    const headers = { 'Idempotency-Key': `"${key}"` }
    await this.follow(() => this.ask(this.orders, { method: 'POST', body, headers }))
  }

  async cancel(order) {
    await this.follow(() => this.ask(`${this.orders}/${order.order_id}`, { method: 'DELETE' }))
  }

  async tryAgain(order, method) {
    const headers = { 'Idempotency-Key': `"${crypto.randomUUID()}"` }
    const body = { payment_method: method }
    await this.follow(() => this.ask(`${this.orders}/${order.order_id}/payment-attempts`, { method: 'POST', body, headers }))
  }

  ask(url, options) {
    return ask(url, { token: this.token, ...options })
  }

  /** Ask by `first`, then look again and again, when the server says that it is worth it. */
  async follow(first) {
    const mine = (this.running += 1)
    let next = first
    while (mine === this.running) {
      let wait = MIN_POLL_MS
      try {
        const order = await next()
        if (mine !== this.running) return
        this.onTrouble('')
        this.onOrder(order)
        if (order.poll_after_s === undefined) return
        wait = order.poll_after_s * 1000
        next = () => this.ask(`${this.orders}/${order.order_id}`)
      } catch (error) {
        if (mine !== this.running) return
        if (error instanceof Refused) {
          this.onRefused(error)
          return
        }
        if (!(error instanceof Later)) throw error
        this.onTrouble(`${error.message} Your order is safe; trying again by itself.`)
        wait = Math.max(MIN_POLL_MS, error.afterMs)
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }
}
