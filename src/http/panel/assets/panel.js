/**
 * What pages of the panel do beyond htmx. Every page can be read without it.
 */
;(() => {
  const NOT_DONE = 'Não foi possível concluir. Tente de novo.'
  const NO_ANSWER = 'O servidor não respondeu. Verifique a conexão e tente de novo.'

  /** Says it where the layout has `<p id="falha" role="alert">`, to be read aloud too. @param {string} message */
  function tellFailure(message) {
    const place = document.getElementById('falha')
    if (place) place.textContent = message
  }

  document.addEventListener('htmx:beforeRequest', () => tellFailure(''))
  document.addEventListener('htmx:responseError', () => tellFailure(NOT_DONE))
  document.addEventListener('htmx:sendError', () => tellFailure(NO_ANSWER))
  document.addEventListener('htmx:timeout', () => tellFailure(NO_ANSWER))
})()
