import * as z from 'zod'
import * as format from '#domain/brazilian-format.ts'
import { boundedText } from '#domain/text.ts'
import { ownValue } from '#lib/own-value.ts'
import { FIRST_OF_PARTIES, openAmountAmong, openAmountsOf } from '#queries/finance/open-balances.ts'
import { type ListOrder, reversed } from '#queries/list-statement.ts'
import {
  countPersons,
  type customerListing,
  listPersonsByName,
  MAX_COUNTED_PERSONS,
  matchingPersonsStatement,
} from '#queries/people.ts'
import { NEWEST_FIRST, ORDER_BY_ID, ORDER_BY_NAME } from '#queries/records.ts'
import type { Fields } from '../forms/form.ts'
import { lineInput, taxNumberInput } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext } from '../route.ts'
import { type FileColumn, metadataCell } from '../ui/csv-file.ts'
import { type ListRequest, listFiltered } from '../ui/list.tsx'
import type { Column } from '../ui/list-table.tsx'
import { type BalancePageSide, OpenFigure } from './finance/open-balances.tsx'
import { PERSON_TYPE_NAMES, type Person } from './person-form.tsx'

export const personFilters: Fields = {
  q: { label: 'Busca', kind: lineInput, columns: 4, hint: 'Nome, CPF ou CNPJ, telefone ou código externo.' },
  document: { label: 'CPF ou CNPJ', kind: taxNumberInput, columns: 4 },
}

/** `find` is `q` of the address: in the API, `q` finds words only. */
const PersonSearch = z.object({
  find: boundedText(120).optional(),
  document: boundedText(20).optional(),
  cursor: z.string().optional(),
})

/** Columns of both lists; a supplier's extra column follows the name. */
export const personColumns =
  <P extends Person>(side: BalancePageSide, ...afterName: Column<P>[]) =>
  async (visit: PageContext, rows: readonly P[]): Promise<Column<P>[]> => [
    {
      head: 'Nome',
      cell: ({ id, name }) => <a href={link(`${side.parties}/${id}`)}>{format.formatPersonName(name)}</a>,
      order: 'nome',
    },
    ...afterName,
    { head: 'CPF ou CNPJ', cell: ({ document }) => document && format.formatTaxNumber(document) },
    { head: 'Telefone', cell: ({ phone }) => phone && format.formatPhone(phone), isExtra: true },
    { head: 'E-mail', cell: ({ email }) => email, isExtra: true },
    ...(await debtColumns(side, visit, rows)),
  ]

/** What the listed persons owe or are owed; none for roles that do not see it. */
async function debtColumns<P extends Person>(
  { side, accounts, words, figures }: BalancePageSide,
  { readModel: { reader, today }, reaches }: PageContext,
  rows: readonly P[],
): Promise<Column<P>[]> {
  if (!reaches('GET', accounts)) return []
  const ids = rows.map(({ id }) => id)
  const amounts = await openAmountsOf(reader, side, ids, today)
  return [
    {
      head: words.total,
      cell: ({ id }) => <OpenFigure of={`${figures.party}/${id}`} amount={amounts.get(id) ?? '0.00'} />,
      isNumber: true,
    },
  ]
}

const ORDERS: Readonly<Record<string, ListOrder>> = {
  nome: ORDER_BY_NAME,
  '-nome': reversed(ORDER_BY_NAME),
  cadastro: ORDER_BY_ID,
  '-cadastro': NEWEST_FIRST,
}

type PersonListing = typeof customerListing
type QueryValues = Readonly<Record<string, string>>

const filtersIn = ({ q, ...filters }: QueryValues): QueryValues => ({ ...filters, ...(q !== undefined && { find: q }) })

export const personPageOf =
  (listing: PersonListing) =>
  ({ readModel }: PageContext, asked: QueryValues, { limit, order = '' }: ListRequest) =>
    listFiltered(PersonSearch, filtersIn(asked), (search) =>
      listPersonsByName(readModel.reader, listing, {
        ...search,
        limit,
        order: ownValue(ORDERS, order),
      }),
    )

/** Number of the found persons, and the sum of their open accounts. */
export const personCountOf =
  (listing: PersonListing, { side, accounts, words }: BalancePageSide) =>
  async ({ readModel: { reader, today }, reaches }: PageContext, asked: QueryValues) => {
    const { cursor: _, ...search } = PersonSearch.parse(filtersIn(asked))
    const count = await countPersons(reader, listing, search)
    const isMore = count > MAX_COUNTED_PERSONS
    const isSummed = !isMore && count > 0 && reaches('GET', accounts)
    const among = matchingPersonsStatement(listing, search, FIRST_OF_PARTIES)
    const amount = isSummed ? await openAmountAmong(reader, side, today, among) : null
    return (
      <p class="sums">
        {isMore && 'Mais de '}
        {count === 1 ? '1 cadastro' : `${format.formatCount(Math.min(count, MAX_COUNTED_PERSONS))} cadastros`}
        {amount !== null && (
          <>
            {` · ${words.total}: `}
            <strong>
              <OpenFigure of="lista" amount={amount} />
            </strong>
          </>
        )}
      </p>
    )
  }

/** Columns of both files; a supplier's extra column follows the name. */
export const personFile =
  <P extends Person>(...afterName: FileColumn<P>[]) =>
  ({ readModel }: PageContext): FileColumn<P>[] => [
    ['Nome', ({ name }) => format.formatPersonName(name)],
    ...afterName,
    ['Tipo de pessoa', ({ person_type }) => PERSON_TYPE_NAMES[person_type]],
    ['CPF ou CNPJ', ({ document }) => document && format.formatTaxNumber(document)],
    ['Telefone', ({ phone }) => phone && format.formatPhone(phone)],
    ['E-mail', ({ email }) => email],
    ['Logradouro', ({ address }) => address?.street],
    ['Número', ({ address }) => address?.number],
    ['Complemento', ({ address }) => address?.complement],
    ['Bairro', ({ address }) => address?.district],
    ['Cidade', ({ address }) => address?.city],
    ['UF', ({ address }) => address?.state],
    ['CEP', ({ address }) => address?.zip && format.formatZipCode(address.zip)],
    ['Código externo', ({ external_id }) => external_id],
    ['Observações', ({ notes }) => notes],
    ['Cadastro', ({ created_at }) => format.formatDateTimeSeconds(created_at, readModel.timezone)],
    ['Metadados', metadataCell],
  ]
