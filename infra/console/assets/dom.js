// Elements without a framework: text is always text, so nothing that is shown can become markup.

/** Make an element: `make('p', { class: 'quiet' }, 'text', otherElement)`; `on…` attributes are listeners. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

/** Find what must be there. */
export function find(id) {
  return document.getElementById(id)
}

/** Replace text only if it differs: whoever listens to a region hears nothing twice. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** A bar of a share between 0 and 1. */
export function bar(share, kind = '') {
  const fill = make('span', { class: `fill ${kind}` })
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`
  return make('span', { class: 'track', 'aria-hidden': 'true' }, fill)
}

/** Put rows into a table's body, as arrays of texts or elements; the first of a row names it. */
export function rows(body, wanted) {
  body.replaceChildren(
    ...wanted.map((cells) =>
      make('tr', {}, ...cells.map((cell, n) => make(n ? 'td' : 'th', n ? {} : { scope: 'row' }, cell))),
    ),
  )
}

/** A table with its heads and an empty body. */
export function table(caption, ...heads) {
  const body = make('tbody')
  const head = make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, text)))
  const element = make('table', {}, make('caption', { class: 'unseen' }, caption), make('thead', {}, head), body)
  return { element, body }
}
