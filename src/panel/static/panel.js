// Small helps for those whose browser runs scripts; every page works without them.

const COPIED_FOR_MS = 2000

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null
  if (!(button instanceof HTMLElement)) return
  await navigator.clipboard.writeText(button.dataset.copy ?? '')
  const label = button.textContent
  button.textContent = 'Copiado'
  setTimeout(() => {
    button.textContent = label
  }, COPIED_FOR_MS)
})

/** There is nothing to press where nothing would happen. */
for (const button of document.querySelectorAll('[data-print]')) {
  if (button instanceof HTMLElement) button.hidden = false
  button.addEventListener('click', () => print())
}
