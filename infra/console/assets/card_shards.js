// The shards side by side: three rows of heat, and a slider that reads one shard aloud.

import { make, say } from './dom.js'
import { count, counted, lasting } from './text.js'

// From these on a cell is as dark as it gets, so that a calm sale looks calm.
const ROWS = [
  { key: 'depth', label: 'In line', colour: '--accent', full: 50, tell: (value) => `${count(value)} in line` },
  { key: 'oldest_s', label: 'Oldest', colour: '--warn', full: 30, tell: (value) => (value === null ? 'nobody waits' : `oldest ${lasting(value)}`) },
  { key: 'arrivals_per_s', label: 'Arrivals', colour: '--good', full: 20, tell: (value) => `${value.toFixed(1)} arrivals a second` },
]

export const shards = {
  name: 'shards',
  title: 'Shards',
  wide: true,
  build(place) {
    const strip = make('div', { class: 'strip' })
    const lanes = ROWS.map((row) => ({ ...row, canvas: make('canvas', { role: 'img' }), head: make('span', { class: 'quiet' }) }))
    const slider = make('input', { type: 'range', min: 0, value: 0, id: 'shard-choice' })
    const reading = make('output', { for: 'shard-choice', class: 'small' })
    const totals = make('p', { class: 'quiet small' })
    strip.append(...lanes.flatMap(({ head, canvas }) => [head, canvas]))
    strip.append(make('label', { for: 'shard-choice', class: 'quiet' }, 'Shard'), slider)
    place.append(strip, reading, totals)
    let card = null
    const draw = () => card && show(card, lanes, slider, reading)
    slider.addEventListener('input', draw)
    new ResizeObserver(draw).observe(strip)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
    return (fresh) => {
      card = fresh
      slider.max = card.shards - 1
      say(totals, sums(card))
      draw()
    }
  },
}

function sums(card) {
  const waiting = card.depth.reduce((sum, one) => sum + one, 0)
  const arrivals = card.arrivals_per_s.reduce((sum, one) => sum + one, 0)
  const oldest = Math.max(...card.oldest_s.map((one) => one ?? 0))
  const age = waiting ? `, the oldest for ${lasting(oldest)}` : ''
  const over = `over ${lasting(card.over_s)}`
  return `${counted(card.shards, 'shard')}: ${count(waiting)} in line${age}; ${arrivals.toFixed(1)} arrivals a second ${over}.`
}

function show(card, lanes, slider, reading) {
  const chosen = Number(slider.value)
  const style = getComputedStyle(document.documentElement)
  for (const lane of lanes) {
    const values = card[lane.key]
    const most = Math.max(0, ...values.map((value) => value ?? 0))
    say(lane.head, lane.label)
    lane.canvas.setAttribute('aria-label', `${lane.label} by shard, at most ${lane.tell(most)}`)
    paint(lane.canvas, values, Math.max(most, lane.full), style.getPropertyValue(lane.colour).trim(), chosen, style)
  }
  say(reading, `Shard ${chosen}: ${lanes.map((lane) => lane.tell(card[lane.key][chosen] ?? null)).join(', ')}`)
}

function paint(canvas, values, full, colour, chosen, style) {
  const scale = window.devicePixelRatio || 1
  const width = (canvas.width = Math.round(canvas.clientWidth * scale))
  const height = (canvas.height = Math.round(canvas.clientHeight * scale))
  const pen = canvas.getContext('2d')
  const cell = width / values.length
  const gap = cell > 6 * scale ? scale : 0
  pen.fillStyle = colour
  values.forEach((value, n) => {
    // The square root lets a little show beside a lot.
    pen.globalAlpha = Math.sqrt(Math.min(1, (value ?? 0) / full))
    pen.fillRect(n * cell, 0, Math.max(1, cell - gap), height)
  })
  pen.globalAlpha = 1
  pen.strokeStyle = style.getPropertyValue('--ink').trim()
  pen.lineWidth = scale
  pen.strokeRect(chosen * cell + scale / 2, scale / 2, Math.max(2, cell - gap) - scale, height - scale)
}
