import * as format from '#domain/person-values.ts'
import { bareTaxNumber, phoneKey, STATES, stateName, stateOfZip } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { boundedText, nameKey } from '#domain/text.ts'
import type { PERSON_TYPES } from '#events/person-events.ts'
import type { CustomerObject } from '#projections/people.ts'
import { type BalanceSide, openAmountsOf } from '#queries/open-balances.ts'
import {
  type customerListing,
  findPersonByName,
  type getCustomer,
  listPersonsByName,
  personsSharing,
} from '#queries/person-queries.ts'
import { getBy } from '#queries/record-queries.ts'
import {
  choiceInput,
  emailInput,
  type FoundChoice,
  type Kind,
  lineInput,
  namedOptions,
  paragraphInput,
  phoneInput,
  taxNumberInput,
  zipInput,
} from '../forms/input-kinds.ts'
import { type Field, type Fields, type FormBody, formText, textsOf } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext } from '../panel-route.ts'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { IE_INDICATOR_NAMES } from '../words/record-words.ts'

/** Customers or suppliers, as one is chosen in a form. */
export interface SearchedParty {
  readonly label: string
  /** Path of their pages. */
  readonly path: string
  readonly table: 'customers' | 'suppliers'
  readonly listing: typeof customerListing
  /** Their open accounts: the debt is shown to users who see these. */
  readonly owed: { readonly side: BalanceSide; readonly path: string; readonly verb: string }
  /** Field of the commands that names one. */
  readonly field: string
}

type FoundParty = Pick<CustomerObject, 'id' | 'name' | 'document' | 'phone'>

/** Persons to choose from; more are found by more words. */
const MAX_FOUND = 8

const Typed = boundedText(120)

interface PartyFieldOptions {
  /** Page of the form, below the panel. */
  readonly path: string
  /** The party's name before. */
  readonly current?: string | null | undefined
}

/**
 * Field in which a party is searched by name, document or phone, and chosen (PANEL-450). The full name, document or
 * phone of one party needs no choice, and a choice counts only while the text finds it.
 */
export async function partyField(
  visit: PageContext,
  party: SearchedParty,
  { path, current }: PartyFieldOptions,
): Promise<Field> {
  const [typed = '', chosen] = sentTexts(visit, party.field)
  const text = Typed.safeParse(typed)
  const found = text.success ? await search(visit, party, text.data) : []
  const id = text.success ? chosenId(text.data, chosen, found) : null
  return {
    label: party.label,
    columns: 6,
    hint: 'Procure pelo nome, CPF, CNPJ ou telefone (opcional).',
    kind: {
      ...lineInput,
      control: { as: 'search', path, found: await choicesOf(visit, party, found), note: noteOf(typed, found, party) },
      read: () => id,
      problem: () => (id === null ? problemOf(found) : null),
      show: () => current ?? typed,
    },
  }
}

/** The typed text and the choice, of the form or of the address. */
function sentTexts(visit: PageContext, field: string): readonly string[] {
  if ('form' in visit) return textsOf((visit as FormSubmission).form, field).map((text) => text.trim())
  return [(visit.query[field] ?? '').trim()]
}

/** The party with exactly this name comes first. */
async function search(
  { readModel }: PageContext,
  { table, listing }: SearchedParty,
  find: string,
): Promise<FoundParty[]> {
  const { reader } = readModel
  const page = recordsOnPage<FoundParty>(await listPersonsByName(reader, listing, { limit: MAX_FOUND, find }))
  const named = await findPersonByName(reader, table, find)
  const { record } = named === null ? { record: null } : await getBy(reader, listing, 'id', named)
  if (record === null) return page
  return [JSON.parse(record) as FoundParty, ...page.filter(({ id }) => id !== named)].slice(0, MAX_FOUND)
}

function chosenId(text: string, chosen: string | undefined, found: readonly FoundParty[]): number | null {
  const picked = found.find(({ id }) => String(id) === chosen)
  if (picked) return picked.id
  const named = found.find(({ name }) => nameKey(name ?? '') === nameKey(text))
  if (named) return named.id
  const [document, phone] = [bareTaxNumber(text), phoneKey(text.replace(/\D/g, ''))]
  const coded = found.filter((one) => one.document === document || (one.phone && phoneKey(one.phone) === phone))
  return coded.length === 1 ? (coded[0]?.id ?? null) : null
}

async function choicesOf(
  visit: PageContext,
  { owed }: SearchedParty,
  found: readonly FoundParty[],
): Promise<FoundChoice[]> {
  const { reader, today } = visit.readModel
  const ids = found.map(({ id }) => id)
  const amounts =
    ids.length > 0 && visit.reaches('GET', owed.path)
      ? await openAmountsOf(reader, owed.side, ids, today)
      : new Map<number, string>()
  return found.map(({ id, name, document, phone }) => {
    const amount = amounts.get(id)
    return {
      value: String(id),
      label: format.formatPersonName(name),
      details: [
        ...(document ? [format.formatTaxNumber(document)] : []),
        ...(phone ? [format.formatPhone(phone)] : []),
        ...(amount ? [`${owed.verb} ${format.formatMoney(amount)}`] : []),
      ],
    }
  })
}

function noteOf(typed: string, found: readonly FoundParty[], { label }: SearchedParty): string | null {
  if (typed === '') return null
  if (found.length === 0) return `${label} não encontrado. Cadastre antes ou deixe em branco.`
  return found.length < MAX_FOUND ? null : 'Há mais resultados: escreva mais do nome, o documento ou o telefone.'
}

const problemOf = (found: readonly FoundParty[]): string =>
  found.length === 0 ? 'não encontrado: cadastre antes ou deixe em branco' : 'escolha um dos encontrados'

/** Of a customer or a supplier. */
export type Person = Omit<CustomerObject, 'state_registration' | 'ie_indicator'>

/** Ticked to save a person with the name that the refusal of another suggested. */
const SUGGESTED_NAME = '_nome'

export const PERSON_TYPE_NAMES: Readonly<Record<(typeof PERSON_TYPES)[number], string>> = {
  PF: 'Pessoa física',
  PJ: 'Pessoa jurídica',
}

/** Fields of both forms; a supplier's extra field follows the name. */
export const personFields = (afterName: Fields = {}, sent: FormBody = {}): Fields => ({
  name: {
    label: 'Nome',
    kind: { ...lineInput, read: (typed) => formText(sent, SUGGESTED_NAME) || typed },
    isRequired: true,
    columns: 8,
  },
  ...afterName,
  person_type: {
    label: 'Tipo de pessoa',
    kind: choiceInput(namedOptions(PERSON_TYPE_NAMES), 'Automático (pelo CPF/CNPJ)'),
    columns: 4,
  },
  document: { label: 'CPF ou CNPJ', kind: taxNumberInput, columns: 4 },
  phone: { label: 'Telefone', kind: phoneInput, columns: 4 },
  email: { label: 'E-mail', kind: emailInput, columns: 4 },
  external_id: {
    label: 'Código externo',
    kind: lineInput,
    columns: 4,
    hint: 'Código deste cadastro em outro sistema (opcional).',
  },
  notes: { label: 'Observações', kind: paragraphInput, columns: 12 },
  'address.zip': { label: 'CEP', kind: checkedZip(sent), columns: 3, group: 'Endereço' },
  'address.street': { label: 'Rua', kind: lineInput, columns: 6 },
  'address.number': { label: 'Número', kind: lineInput, columns: 3 },
  'address.complement': { label: 'Complemento', kind: lineInput, columns: 4 },
  'address.district': { label: 'Bairro', kind: lineInput, columns: 4 },
  'address.city': { label: 'Cidade', kind: lineInput, columns: 3 },
  'address.state': { label: 'UF', kind: checkedState(sent), columns: 2 },
})

export const sentIn = (visit: PageContext): FormBody => ('form' in visit ? (visit as FormSubmission).form : {})

/** CEP that exists, of the state that was sent with it. */
const checkedZip = (sent: FormBody): Kind => ({
  ...zipInput,
  problem(typed) {
    const zip = typed.replace(/\D/g, '')
    if (zip.length !== 8) return null
    const state = stateOfZip(zip)
    if (state === null) return 'não existe: confira os números'
    const typedState = formText(sent, 'address.state')
    return typedState === '' || typedState === state ? null : `é de ${state}, e não de ${typedState}`
  },
})

/** The CEP alone may be unchanged, so the state is compared too. */
const checkedState = (sent: FormBody): Kind => ({
  ...choiceInput(STATES.map((state) => ({ value: state, label: `${state} – ${stateName(state)}` }))),
  problem(typed) {
    const state = stateOfZip(formText(sent, 'address.zip').replace(/\D/g, ''))
    return state === null || state === typed ? null : `o CEP é de ${state}`
  },
})

/** Fields of customers for fiscal documents. */
export const CUSTOMER_TAX_INPUTS: Fields = {
  state_registration: { label: 'Inscrição estadual', kind: lineInput, columns: 6, fold: 'Dados fiscais' },
  ie_indicator: {
    label: 'Contribuinte do ICMS',
    kind: choiceInput(namedOptions(IE_INDICATOR_NAMES)),
    columns: 6,
    fold: 'Dados fiscais',
  },
}

/** Who has the name that was refused, and a free one to take with a tick. */
export const takenName =
  (of: typeof getCustomer, path: string) =>
  async ({ refused, details = {} }: Refusal, { readModel }: FormSubmission) => {
    const { field, conflicting_id, suggested_name } = details
    if (refused !== 'duplicate_resource' || typeof conflicting_id !== 'number') return undefined
    const { record } = await of(readModel.reader, conflicting_id)
    if (record === null) return undefined
    const { id, name, document, phone } = JSON.parse(record) as Person
    const facts = [document && format.formatTaxNumber(document), phone && format.formatPhone(phone)].filter(Boolean)
    return (
      <>
        {field === 'name' ? 'Este nome já é de ' : 'Este código já é de '}
        <a href={link(`${path}/${id}`)}>{format.formatPersonName(name)}</a>
        {facts.length > 0 && ` (${facts.join(', ')})`}
        {'. '}
        {typeof suggested_name === 'string' && (
          <label class="choice">
            <input type="checkbox" name={SUGGESTED_NAME} value={suggested_name} />
            {`Salvar com o nome “${suggested_name}”`}
          </label>
        )}
      </>
    )
  }

/** Warns of other persons with the same document or phone, with links. */
export const sharingNotice =
  ({ resource }: typeof customerListing, path: string) =>
  async (person: Person, { readModel: { reader } }: PageContext) => {
    const others = await personsSharing(reader, resource as 'customers' | 'suppliers', person)
    return (['document', 'phone'] as const).map((shared) => {
      const same = others.filter(({ shares }) => shares === shared)
      if (same.length === 0) return null
      return (
        <p key={shared} class="warning" role="status">
          {shared === 'document' ? 'Mesmo CPF ou CNPJ de ' : 'Mesmo telefone de '}
          {same.map(({ id, name }, at) => (
            <>
              {at > 0 && ', '}
              <a href={link(`${path}/${id}`)}>{format.formatPersonName(name)}</a>
            </>
          ))}
          . Confira se não é a mesma pessoa.
        </p>
      )
    })
  }
