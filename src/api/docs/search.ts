/** Filters the list of operations and guides of `/docs` while one types. Without scripts the whole list is shown. */
export const SEARCH = `'use strict'
const plain = (text) => text.normalize('NFD').replace(/\\p{M}/gu, '').toLowerCase()
const form = document.getElementById('busca')
const field = form.querySelector('input')
const found = form.querySelector('output')
const groups = [...document.querySelectorAll('[data-grupo]')].map((group) => ({
  group,
  entries: [...group.querySelectorAll('li')].map((entry) => ({
    entry,
    text: plain(entry.textContent + ' ' + (entry.dataset.termos ?? '')),
  })),
}))
const filter = () => {
  const words = plain(field.value).split(/\\s+/).filter(Boolean)
  let count = 0
  for (const { group, entries } of groups) {
    let some = 0
    for (const { entry, text } of entries) {
      entry.hidden = !words.every((word) => text.includes(word))
      if (!entry.hidden) some += 1
    }
    group.hidden = some === 0
    count += some
  }
  found.value = words.length === 0 ? '' : count === 0 ? 'Nada encontrado.' : count + (count === 1 ? ' resultado' : ' resultados')
}
field.addEventListener('input', filter)
form.hidden = false
filter()
`
