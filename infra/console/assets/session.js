// The token of whoever looks: handed over in the address's fragment, which no server sees, or typed in.

/** Take a token out of the fragment, if one is there, and keep it for this tab. Return the token or null. */
export function enter(name) {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given) {
    sessionStorage.setItem(name, given)
    history.replaceState(null, '', location.pathname + location.search)
  }
  return sessionStorage.getItem(name)
}

export const keep = (name, token) => sessionStorage.setItem(name, token)

export const leave = (name) => sessionStorage.removeItem(name)

/** What a token says of itself. The server alone decides whether it is true. */
export function claims(token) {
  try {
    const part = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (char) => char.charCodeAt(0))))
  } catch {
    return {}
  }
}

export const mayWrite = (token) => (claims(token).scope ?? '').split(' ').includes('staff:write')
