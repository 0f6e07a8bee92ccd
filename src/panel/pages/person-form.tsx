import * as format from '#domain/person-values.ts'
import { bareTaxNumber, phoneKey, STATES, stateName, stateOfZip } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { boundedText, nameKey } from '#domain/text.ts'
import type { CustomerObject } from '#projections/people.ts'
import { type BalanceSide, sumOpenByParty } from '#queries/open-balances.ts'
import {
  type customerListing,
  findPersonByName,
  type getCustomer,
  listPersonsByName,
  personsSharing,
} from '#queries/person-queries.ts'
import { getBy } from '#queries/record-queries.ts'
import { CUSTOMER_FIELDS, PERSON_TYPE_NAMES, SUPPLIER_FIELDS } from '#records/persons.ts'
import { choiceInput, type FoundChoice, type Kind, lineInput, namedOptions, zipInput } from '../forms/input-kinds.ts'
import { type Field, type FormBody, formText, formTexts } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext } from '../panel-route.ts'
import { fieldInputs, type Layout } from '../record-fields.ts'
import { recordsOnPage } from '../ui/panel-list.tsx'

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
 * Field in which a party is searched by name, document or phone, and chosen. The full name, document or
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
  if ('form' in visit) return formTexts((visit as FormSubmission).form, field).map((text) => text.trim())
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
      ? await sumOpenByParty(reader, owed.side, ids, today)
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

/** Of both forms; `afterName` are the fields of a kind that follow the name. */
const personLayout = <N extends string>(sent: FormBody, afterName: Readonly<Record<N, Layout>>) => ({
  name: {
    columns: 8,
    kind: { ...lineInput, read: (typed: string) => formText(sent, SUGGESTED_NAME) || typed },
  } as const,
  ...afterName,
  person_type: {
    columns: 4,
    kind: choiceInput(namedOptions(PERSON_TYPE_NAMES), 'Automático (pelo CPF/CNPJ)'),
  } as const,
  document: 4 as const,
  phone: 4 as const,
  email: 4 as const,
  external_id: 4 as const,
  notes: 12 as const,
  'address.zip': { kind: checkedZip(sent), columns: 3, group: 'Endereço' } as const,
  'address.street': 6 as const,
  'address.number': 3 as const,
  'address.complement': 4 as const,
  'address.district': 4 as const,
  'address.city': 3 as const,
  'address.state': { kind: checkedState(sent), columns: 2 } as const,
})

export const customerInputs = (sent: FormBody = {}) =>
  fieldInputs(CUSTOMER_FIELDS, {
    ...personLayout(sent, {}),
    state_registration: { fold: 'Dados fiscais' },
    ie_indicator: { fold: 'Dados fiscais' },
  })

export const supplierInputs = (sent: FormBody = {}) =>
  fieldInputs(SUPPLIER_FIELDS, personLayout(sent, { trade_name: 4 }))

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

/** Who has the name that was refused, and a free one to take with a tick. */
export const findTakenName =
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
