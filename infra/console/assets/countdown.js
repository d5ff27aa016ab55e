// How long until the sale opens, by the server's clock.

/** Write a length of time as `2 d 03:04:05`. */
export function clockFace(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const two = (number) => String(number).padStart(2, '0')
  const days = Math.floor(seconds / 86400)
  const face = `${two(Math.floor(seconds / 3600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return days ? `${days} d ${face}` : face
}

/** Call `onTick` with what is left until it is nothing; return a function that stops it. */
export function countDown(leftMs, onTick) {
  const timer = setInterval(tick, 250)
  function tick() {
    const left = leftMs()
    onTick(left)
    if (left <= 0) clearInterval(timer)
  }
  tick()
  return () => clearInterval(timer)
}
