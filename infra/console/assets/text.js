// Numbers and times as people read them.

const whole = new Intl.NumberFormat('en')
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export const count = (number) => whole.format(number ?? 0)

export const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`

export function percent(share) {
  if (!share) return '0 %'
  const value = share * 100
  return `${value < 0.1 ? value.toFixed(2) : value < 10 ? value.toFixed(1) : Math.round(value)} %`
}

/** A length of time in seconds: `0.4 s`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function lasting(seconds) {
  if (seconds < 10) return `${(Math.round(seconds * 10) / 10).toString()} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86400)} d`
}

export function ago(seconds) {
  return seconds < 2 ? 'just now' : `${lasting(seconds)} ago`
}

export const timeOfDay = (text) => clock.format(new Date(text))

/** `held_at_door` becomes `held at door`. */
export const words = (code) => code.replaceAll(/[_-]/g, ' ')
