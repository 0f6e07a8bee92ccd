// Small helps for those whose browser runs scripts; every page can be read without them.
document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('[data-copy]')
  if (!button) return
  await navigator.clipboard.writeText(button.dataset.copy)
  const { textContent } = button
  button.textContent = 'Copiado'
  setTimeout(() => {
    button.textContent = textContent
  }, 2000)
})
