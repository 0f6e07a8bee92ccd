import * as format from '#domain/brazilian-format.ts'
import { phoneKey } from '#domain/phone-key.ts'
import { bareTaxNumber } from '#domain/tax-number.ts'
import { boundedText, nameKey } from '#domain/text.ts'
import type { CustomerObject } from '#projections/people.ts'
import { type BalanceSide, openAmountsOf } from '#queries/finance/open-balances.ts'
import { type customerListing, findPersonByName, listPersonsByName } from '#queries/people.ts'
import { getBy } from '#queries/records.ts'
import { type Field, textsOf } from '../forms/form.ts'
import { type FoundChoice, lineInput } from '../forms/kinds.ts'
import type { FormSubmission, PageContext } from '../route.ts'
import { recordsOnPage } from '../ui/list.tsx'

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
