import { expect } from 'chai'
import { textIn } from '../support/panel.ts'

/** `1.234` */
export const numberOf = (text: string): number => Number(text.trim().replaceAll('.', '').replace('−', '-'))

/** A row of a table by the heads of its columns. */
export type TableRow = Readonly<Record<string, string>>

/** Records of a CSV file by the heads of its columns. */
export function fileRows(text: string): TableRow[] {
  const [heads = [], ...rows] = text
    .replace(/^\uFEFF/, '')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => line.split(';').map((cell) => cell.replace(/^"(.*)"$/, '$1')))
  for (const row of rows) expect(row).to.have.length(heads.length)
  return rows.map((cells) => Object.fromEntries(cells.map((cell, column) => [heads[column] ?? '', cell])))
}

const NUMBER = /^−?(?:R\$ )?\d{1,3}(?:\.\d{3})*(?:,\d+)?$/

/** A number as pages show it, alone: `−R$ 1.234,56`. */
function valueIn(text: string): number {
  if (!NUMBER.test(text)) throw new Error(`a figure is not a number alone: ${JSON.stringify(text)}`)
  return Number(text.replace('R$ ', '').replaceAll('.', '').replace(',', '.').replace('−', '-'))
}

const FIGURE = /<span data-figure="([^"]*)"(?: data-figure-of="([^"]*)")?>([^<]*)<\/span>/g

/** Marked figures of a page, as `scope.name`. A name that stands twice on a page carries its scope. */
export function figuresIn(html: string): Record<string, number> {
  const figures: Record<string, number> = {}
  const scopes = new Map<string, string[]>()
  for (const [, name = '', of = '', text = ''] of html.matchAll(FIGURE)) {
    scopes.set(name, [...(scopes.get(name) ?? []), of])
    figures[`${of || 'total'}.${name}`] = valueIn(textIn(text).trim())
  }
  expect(html.split('data-figure=').length - 1, 'marks').to.equal([...scopes.values()].flat().length)
  for (const [name, all] of scopes) {
    expect(new Set(all).size, `${name} of ${all.join(', ')}`).to.equal(all.length)
    if (all.length > 1) expect(all, name).not.to.include('')
  }
  return figures
}
