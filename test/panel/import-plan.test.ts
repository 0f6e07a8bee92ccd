import { expect } from 'chai'
import { lineInput } from '#panel/forms/input-kinds.ts'
import { createHeadWords, guessMapping, type ImportMapping } from '#panel/import/column-titles.ts'
import { IMPORTED, type ImportableKind } from '#panel/import/import-kinds.ts'
import { type KeyField, readLine } from '#panel/import/import-lines.ts'
import { type ColumnMapping, createPlanner, createRecordIndex } from '#panel/import/import-plan.ts'
import type { MatchingRecord } from '#queries/import-matches.ts'

const items = IMPORTED.find(({ kind }) => kind === 'items') as ImportableKind
const { keyFields } = items.reading

const FIELDS = Object.fromEntries(
  ['external_id', 'barcode', 'sku', 'name', 'price'].map((name) => [name, { label: name, kind: lineInput }] as const),
)
const reading: ColumnMapping = { ...items.reading, fields: FIELDS }

const known = (id: number, keys: Partial<MatchingRecord['keys']>, is_deleted = false): MatchingRecord => ({
  id,
  is_deleted,
  text: 'Conhecido',
  keys: { external_id: null, barcode: null, sku: null, ...keys } as MatchingRecord['keys'],
})

const columnsOf = (mapping: ImportMapping) => ({ mapping, width: mapping.size, numbers: new Map() })

/** What becomes of a line with such values. */
function planOf(records: Iterable<MatchingRecord>, values: Readonly<Record<string, string>>) {
  const holders = createRecordIndex(keyFields as readonly KeyField[])
  for (const record of records) holders.add(record)
  const names = Object.keys(values)
  const mapping = new Map(names.map((name, column) => [column, name]))
  const plan = createPlanner(reading, holders, 'America/Sao_Paulo')
  return plan(readLine({ number: 2, cells: Object.values(values) }, columnsOf(mapping), reading), null)
}

const NEW = { name: 'Café', price: '1.00' }

describe('panel: import plan', () => {
  it('matches the record that has the first key of the line [PANEL-181]', () => {
    const records = [known(1, { external_id: 'a' }), known(2, { barcode: '7', sku: 'S' })]
    expect(planOf(records, { external_id: 'a', ...NEW })).to.include({ id: 1 })
    expect(planOf(records, { barcode: '7', ...NEW })).to.include({ id: 2 })
    expect(planOf(records, { sku: 'S', ...NEW })).to.include({ id: 2 })
    expect(planOf(records, { sku: 'other', ...NEW })).to.include({ id: null })
  })

  it('is ambiguous if two records have the key [PANEL-181]', () => {
    const records = [known(1, { sku: 'S' }), known(2, { sku: 'S' })]
    expect(planOf(records, { sku: 'S', ...NEW })).to.deep.equal({
      number: 2,
      errors: ['há mais de um cadastro com este código: altere-os um a um'],
    })
  })

  it('creates a record without codes if its name is new, and finds it by that name later [IMPORT-100]', () => {
    const name = items.reading.keyFields.at(-1)?.normalized('Café') as string
    expect(planOf([], NEW)).to.include({ id: null })
    expect(planOf([known(1, { name })], NEW)).to.include({ id: 1 })
    expect(planOf([known(1, { name }), known(2, { sku: 'S', name })], NEW)).to.include({ id: 1 })
    expect(planOf([], { price: '1.00' })).to.deep.equal({ number: 2, errors: ['falta name'] })
  })

  it('refuses a line without codes that has the name of a record or line with one [IMPORT-100]', () => {
    const name = items.reading.keyFields.at(-1)?.normalized('Café') as string
    expect(planOf([known(2, { sku: 'S', name })], NEW)).to.deep.equal({
      number: 2,
      errors: ['name: já é de um cadastro com código; informe external_id ou barcode ou sku'],
    })
    const plan = createPlanner(reading, createRecordIndex(keyFields), 'America/Sao_Paulo')
    const columns = columnsOf(new Map([...['sku', 'name', 'price'].entries()]))
    plan(readLine({ number: 2, cells: ['S', 'Café', '1.00'] }, columns, reading), null)
    const repeated = plan(readLine({ number: 3, cells: ['', 'Café', '1.00'] }, columns, reading), null)
    expect(repeated).to.deep.equal({ number: 3, errors: ['name: repete a linha 2, que tem código'] })
  })

  it('skips records with another value of a stronger key [PANEL-181]', () => {
    const records = [known(1, { external_id: 'x', sku: 'S' }), known(2, { external_id: 'y', sku: 'S' })]
    expect(planOf(records, { external_id: 'z', sku: 'S', ...NEW })).to.include({ id: null })
    const [without] = [known(3, { barcode: '7', sku: 'S' })]
    expect(planOf([...records, without], { external_id: 'z', sku: 'S', ...NEW })).to.include({ id: 3 })
    expect(planOf([...records, without], { external_id: 'z', barcode: '8', sku: 'S', ...NEW })).to.include({ id: null })
  })

  it('matches among 200,000 records with the same key, of which few are stored [PANEL-322]', () => {
    const holders = createRecordIndex(keyFields)
    // Copying the list for each record would take minutes.
    for (let id = 1; id <= 200_000; id++) holders.add(known(id, { external_id: `x${id}`, sku: 'S' }))
    holders.add(known(200_001, { sku: 'S' }))
    expect(holders.of(['sku', 'S'])).to.have.length(3)
    const plan = createPlanner(reading, holders, 'America/Sao_Paulo')
    const mapping = new Map([...['external_id', 'sku', 'name', 'price'].entries()])
    const found = plan(readLine({ number: 2, cells: ['z', 'S', 'Café', '1.00'] }, columnsOf(mapping), reading), null)
    expect(found).to.include({ id: 200_001 })
  })

  it('recognises columns by their headings in linear time [PANEL-321]', () => {
    const heads = [
      'Código',
      'PREÇO (R$) ',
      'preco_venda',
      'Preço de custo [R$]',
      '__proto__',
      'constructor',
      // Quadratic time would take minutes.
      '('.repeat(1_000_000),
    ]
    const fields = { ...FIELDS, cost: { label: 'Custo', kind: lineInput } }
    expect([...guessMapping(heads, createHeadWords(fields, items.heads), [])]).to.deep.equal([
      [0, 'external_id'],
      [1, 'price'],
      [3, 'cost'],
    ])
  })
})
