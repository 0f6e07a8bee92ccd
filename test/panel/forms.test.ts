import { expect } from 'chai'
import { amountInput, choicesInput, lineInput, paragraphInput, yesOrNoInput } from '#panel/forms/input-kinds.ts'
import {
  BEFORE,
  beforeOf,
  changedFields,
  type Fields,
  type FormBody,
  filledFrom,
  inputOf,
} from '#panel/forms/panel-form.ts'

const FIELDS: Fields = {
  name: { label: 'Nome', kind: lineInput },
  notes: { label: 'Observações', kind: paragraphInput },
  price: { label: 'Preço', kind: amountInput },
  is_active: { label: 'Ativo', kind: yesOrNoInput },
  scopes: { label: 'Pode', kind: choicesInput([{ value: 'a', label: 'A' }]) },
}

const RECORD = { name: 'Café', notes: 'uma linha\noutra linha', price: '1234.50', is_active: true, scopes: ['a'] }

/** Form fields that a browser sends for a record after these edits. */
const sent = (typed: FormBody = {}, record: object = RECORD): FormBody => ({
  [BEFORE]: beforeOf(filledFrom(FIELDS, record, 'America/Sao_Paulo')),
  name: 'Café',
  notes: 'uma linha\r\noutra linha',
  price: '1.234,50',
  is_active: 'on',
  scopes: 'a',
  ...typed,
})

describe('panel: detection of edited form fields', () => {
  const changed = (body: FormBody) => Object.keys(changedFields(FIELDS, body))

  it('finds none if a browser sends unchanged values with other line ends [PANEL-11]', () => {
    expect(changed(sent())).to.deep.equal([])
    for (const notes of ['a\r\nb', 'a\rb', 'a\nb'])
      expect(changed(sent({ notes: 'a\r\nb' }, { ...RECORD, notes })), JSON.stringify(notes)).to.deep.equal([])
  })

  it('finds edited, emptied and unticked fields only [PANEL-11]', () => {
    expect(changed(sent({ name: 'Chá' }))).to.deep.equal(['name'])
    expect(changed(sent({ notes: '' }))).to.deep.equal(['notes'])
    const { is_active: _, scopes: __, ...unticked } = sent()
    expect(changed(unticked)).to.deep.equal(['is_active', 'scopes'])
    expect(changed(sent({ notes: 'uma linha\r\n\r\noutra linha' }))).to.deep.equal(['notes'])
  })

  it('distinguishes a line end from the characters \\n and \\r', () => {
    const record = { ...RECORD, notes: 'pasta\nova' }
    expect(changed(sent({ notes: 'pasta\\nova' }, record))).to.deep.equal(['notes'])
    expect(changed(sent({ notes: 'pasta\\rnova' }, record))).to.deep.equal(['notes'])
    expect(changed(sent({ notes: 'rede' }, { ...RECORD, notes: '\\rede' }))).to.deep.equal(['notes'])
  })

  it('finds all fields if the form lacks its original values', () => {
    for (const before of ['', 'nada', '{"name":3}'])
      expect(changed(sent({ [BEFORE]: before })), before).to.deep.equal(Object.keys(FIELDS))
  })

  it('passes line ends to commands as \\n', () => {
    expect(inputOf(FIELDS, sent({ notes: 'a\r\nb\rc' }), 'America/Sao_Paulo')).to.deep.include({ notes: 'a\nb\nc' })
  })
})
