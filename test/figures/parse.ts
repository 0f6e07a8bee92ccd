import { expect } from 'chai'
import { textIn } from '../support/panel.ts'

/** Cents of an amount as pages show it: `−R$ 1.234,56`, or `1234,56` in a file. */
export function centsOf(text: string): number {
  const [, sign, digits] = /^([−-]?)(?:R\$ )?([\d.]+,\d\d)$/.exec(text.trim()) ?? []
  if (digits === undefined) throw new Error(`not an amount: ${JSON.stringify(text)}`)
  return (sign ? -1 : 1) * Number(digits.replace(/[.,]/g, ''))
}

/** `1.234` */
export const numberOf = (text: string): number => Number(text.trim().replaceAll('.', '').replace('−', '-'))

/** Thousandths of a quantity with or without its unit: `0,924 KG`. */
export function thousandthsOf(text: string): number {
  const [, sign, whole = '', part = ''] = /^([−-]?)([\d.]+)(?:,(\d+))?/.exec(text.trim()) ?? []
  return (sign ? -1 : 1) * Number(whole.replaceAll('.', '') + part.padEnd(3, '0'))
}

/** A row of a table by the heads of its columns. */
export type TableRow = Readonly<Record<string, string>>

/** Rows of the table with this caption; none if the page has no such table. */
export function tableIn(html: string, caption: string): TableRow[] {
  const at = html.indexOf(`<caption class="hidden">${caption}</caption>`)
  if (at < 0) return []
  const table = html.slice(at, html.indexOf('</table>', at))
  const cellsOf = (row: string) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textIn(cell).trim())
  const [heads = [], ...rows] = [...table.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) => cellsOf(row))
  return rows.map((cells) => Object.fromEntries(cells.map((cell, column) => [heads[column] ?? '', cell])))
}

/** Value of a fact or figure with this name in a page or a part of it. */
export function factIn(html: string, name: string): string | null {
  const [, value] = new RegExp(`<dt[^>]*>${name}</dt>\\s*<dd[^>]*>(.*?)</dd>`, 's').exec(html) ?? []
  return value === undefined ? null : textIn(value).trim()
}

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

/** Figures of a reconciled line: `9 vendas, R$ 455,66 − 1 cancelada, R$ 132,95 = R$ 322,71`. */
export interface LineFigures {
  readonly vendas: number
  readonly vendido: number
  readonly canceladas: number
  readonly cancelado: number
  readonly devolvido: number
  readonly líquido: number
}

const MONEY = '−?R\\$ [\\d.]+,\\d\\d'

export function lineIn(text: string, before = ''): LineFigures {
  const pattern = `${before}([\\d.]+) vendas?, (${MONEY})(?: − ([\\d.]+) canceladas?, (${MONEY}))?(?: − (-?[\\d.]+) devoluç(?:ão|ões), (${MONEY}))?(?: = (${MONEY}))?`
  const [whole, sold, amount, cancelled, less, , returned, net] = new RegExp(pattern).exec(text) ?? []
  if (!whole || !sold || !amount) throw new Error(`no line of sales ${before} in: ${text.slice(0, 2_000)}`)
  return {
    vendas: numberOf(sold),
    vendido: centsOf(amount),
    canceladas: cancelled ? numberOf(cancelled) : 0,
    cancelado: less ? centsOf(less) : 0,
    devolvido: returned ? centsOf(returned) : 0,
    líquido: centsOf(net ?? amount),
  }
}
