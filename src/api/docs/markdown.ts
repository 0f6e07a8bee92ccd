import { type Html, html } from './html.ts'

/**
 * The little Markdown that the contract's texts use: paragraphs and lists apart by blank lines, `code` and **bold**.
 * Anything else stays as it is written.
 */
export function markdown(text: string): Html[] {
  return text.split(/\n{2,}/).map(block)
}

function block(text: string): Html {
  const lines = text.split('\n')
  if (!lines.every((line) => line.startsWith('- '))) return html`<p>${lines.map((line) => [inline(line), ' '])}</p>`
  return html`<ul>${lines.map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
}

/** A line without blocks. */
export function inline(text: string): Html[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    if (part.startsWith('**')) return html`<strong>${part.slice(2, -2)}</strong>`
    return html`${part}`
  })
}
