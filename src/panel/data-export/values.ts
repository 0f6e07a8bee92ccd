import { escapeHtml } from '#lib/html.ts'
import { fieldName } from '../words/fields.ts'
import { textOfBoolean, textOfValue } from '../words/values.ts'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** A value as HTML; objects become tables, arrays become lists. `name` is the member that holds the value. */
function valueHtml(name: string, value: unknown, timezone: string): string {
  if (value === null || value === undefined || value === '') return '<span class="none">—</span>'
  if (typeof value === 'boolean') return textOfBoolean(name, value)
  if (typeof value === 'string') return escapeHtml(textOfValue(name, value, timezone))
  if (Array.isArray(value)) {
    if (value.length === 0) return '<span class="none">—</span>'
    const isPlain = value.every((each) => !isObject(each))
    if (isPlain) return value.map((each) => valueHtml(name, each, timezone)).join(', ')
    return `<ol>${value.map((each) => `<li>${valueHtml(name, each, timezone)}</li>`).join('')}</ol>`
  }
  return isObject(value) ? membersHtml(value, timezone) : escapeHtml(String(value))
}

/** All members of an object, one per row. */
export function membersHtml(record: object, timezone: string): string {
  const rows = Object.entries(record).map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeHtml(fieldName(name))}</th><td>${valueHtml(name, value, timezone)}</td></tr>`,
  )
  return rows.length === 0 ? '<span class="none">—</span>' : `<table>${rows.join('')}</table>`
}
