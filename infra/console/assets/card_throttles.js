// The throttle rate over time, drawn by uPlot.

import { make, say } from './dom.js'
import { count, counted, percent, words } from './text.js'

const HEIGHT = 180

export const throttles = {
  name: 'throttles',
  title: 'Throttles',
  build(place) {
    const summary = make('p')
    const chart = make('div', { class: 'chart', role: 'img' })
    const notes = make('ul', { class: 'notes' })
    place.append(summary, chart, notes)
    let plot = null
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const forget = () => {
      plot?.destroy()
      plot = null
    }
    dark.addEventListener('change', forget)
    new ResizeObserver(() => plot?.setSize({ width: chart.clientWidth, height: HEIGHT })).observe(chart)
    return (card) => {
      say(summary, sentence(card))
      const data = points(card)
      chart.setAttribute('aria-label', `Throttle rate over the last minutes, at most ${percent(Math.max(0, ...data[1]))}.`)
      chart.hidden = data[0].length < 2
      if (!chart.hidden && !plot) plot = draw(chart, data)
      else plot?.setData(data)
      const reasons = Object.entries(card.reasons).map(([why, times]) => `${words(why || 'no reason')}: ${count(times)}`)
      notes.replaceChildren(...[...reasons, ...card.explained].map((text) => make('li', {}, text)))
    }
  },
}

function sentence(card) {
  const whose = `${counted(card.attempts, 'attempt')} at the store by ${card.processes.join(', ')}`
  if (!card.throttled) return `None throttled of ${whose}.`
  return `${percent(card.recent_rate)} throttled in the last minute; ${count(card.throttled)} of ${whose} in all.`
}

function points(card) {
  // The present bucket is still filling up.
  const full = card.points.slice(0, -1)
  return [full.map((one) => one.at_ms / 1000), full.map((one) => (one.attempts ? one.throttled / one.attempts : 0))]
}

function draw(place, data) {
  const style = getComputedStyle(document.documentElement)
  const colour = (name) => style.getPropertyValue(name).trim()
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, low, high) => [0, Math.max(high, 0.01)] } },
    axes: [axis, { ...axis, size: 56, values: (_, shares) => shares.map(percent) }],
    series: [{}, { stroke: colour('--accent'), fill: `${colour('--accent')}22`, width: 2, points: { show: false } }],
  }
  return new window.uPlot(options, data, place)
}
