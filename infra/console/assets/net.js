// Asking the server: once, or again and again.

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 15000

/** The server said no, and will say so again; `problem` is its answer. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `The server answered ${status}.`)
    this.status = status
    this.code = (problem.type ?? '').replace('urn:onsale:problem:', '')
    this.problem = problem
  }
}

/** The server could not answer now; `afterMs` is when it wants to be asked again. */
export class Later extends Error {
  constructor(message, afterMs) {
    super(message)
    this.afterMs = afterMs
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Ask once; the answer's JSON, or Refused, or Later. */
export async function ask(url, { token, method = 'GET', body, headers = {}, signal } = {}) {
  const response = await send(url, { token, method, body, headers, signal })
  return response.json()
}

async function send(url, { token, method, body, headers, signal }) {
  const sent = { ...headers }
  if (token) sent.Authorization = `Bearer ${token}`
  if (body !== undefined) sent['Content-Type'] = 'application/json'
  let response
  try {
    const text = body === undefined ? undefined : JSON.stringify(body)
    response = await fetch(url, { method, headers: sent, body: text, signal, cache: 'no-store' })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Later('The server cannot be reached.', FIRST_WAIT_MS)
  }
  if (response.ok) return response
  const problem = await response.json().catch(() => ({}))
  if (response.status >= 500 || response.status === 429) {
    throw new Later(problem.detail ?? 'The server is busy.', (problem.retry_after_s ?? 1) * 1000)
  }
  throw new Refused(response.status, problem)
}

/**
 * Follow an address until `signal` says stop: by a stream where the server sends one, else by asking about once a
 * second. `onFrame` gets each frame, `onTrouble` a sentence while nothing comes. Ends with Refused when the server
 * refuses.
 */
export async function follow(url, { token, signal, onFrame, onTrouble }) {
  let wait = FIRST_WAIT_MS
  const heard = (frame) => {
    wait = FIRST_WAIT_MS
    onFrame(frame)
  }
  while (!signal.aborted) {
    try {
      const headers = { Accept: 'text/event-stream, application/json' }
      const response = await send(url, { token, method: 'GET', headers, signal })
      if (response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
        await readEvents(response.body, (text) => heard(JSON.parse(text)))
        if (!signal.aborted) onTrouble('The server ended the stream; asking again.')
      } else {
        heard(await response.json())
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Refused) throw error
      onTrouble(error instanceof Later ? error.message : 'The connection was lost.')
      wait = Math.min(LONGEST_WAIT_MS, Math.max(wait * 1.6, error.afterMs ?? 0))
    }
    // Those who lost the server together must not come back together.
    await pause(wait * (1 + Math.random() / 4))
  }
}

async function readEvents(stream, onText) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\n\n')
    rest = parts.pop()
    for (const part of parts) if (part.startsWith('data: ')) onText(part.slice(6))
  }
}
