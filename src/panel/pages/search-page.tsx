import { formatDateTime, formatMoney, formatPersonName, formatTaxNumber } from '#domain/person-values.ts'
import { type FoundRecord, MAX_SEARCH_RESULTS, type SearchResults, searchAll } from '#queries/search-queries.ts'
import { findVoucher } from '#queries/voucher-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { Card, Nothing, StateBadge } from '../ui/page-parts.tsx'
import { ORDERS_PATH } from './order-lists.tsx'
import { SALE_STATES } from './sale-list.tsx'
import { VOUCHER_PATH } from './voucher-pages.tsx'

interface Kind {
  readonly of: keyof SearchResults
  readonly title: string
  readonly path: string
  /** Link to the full list of results. */
  readonly all?: string
  text(record: FoundRecord, visit: PageContext): string
  detail(record: FoundRecord): string | null
}

const personKind = (of: 'customers' | 'suppliers', title: string, path: string): Kind => ({
  of,
  title,
  path,
  all: path,
  text: ({ text }) => formatPersonName(text),
  detail: ({ detail }) => detail && formatTaxNumber(detail),
})

const accountKind = (of: 'receivables' | 'payables', title: string, path: string): Kind => ({
  of,
  title,
  path,
  text: ({ text }) => text ?? '',
  detail: ({ detail }) => detail && formatMoney(detail),
})

const KINDS: readonly Kind[] = [
  {
    of: 'sales',
    title: 'Vendas',
    path: '/vendas',
    text: ({ id, text }, { readModel }) => `Venda ${id} · ${text && formatDateTime(text, readModel.timezone)}`,
    detail: ({ detail }) => detail && formatMoney(detail),
  },
  {
    of: 'orders',
    title: 'Pedidos',
    path: ORDERS_PATH,
    text: ({ id, text }) => `Pedido ${id} · ${formatPersonName(text)}`,
    detail: ({ detail }) => detail && formatMoney(detail),
  },
  {
    of: 'items',
    title: 'Produtos e serviços',
    path: '/catalogo',
    all: '/catalogo',
    text: ({ text }) => text ?? '',
    detail: ({ detail }) => detail && formatMoney(detail),
  },
  personKind('customers', 'Clientes', '/clientes'),
  personKind('suppliers', 'Fornecedores', '/fornecedores'),
  accountKind('receivables', 'Contas a receber', '/contas-a-receber'),
  accountKind('payables', 'Contas a pagar', '/contas-a-pagar'),
]

/** A voucher by its whole code, in capitals as it is printed. */
async function findCode({ reaches, readModel }: PageContext, typed: string) {
  const code = typed.toUpperCase()
  if (code.length === 0 || code.length > 40 || readModel.moment || !reaches('GET', VOUCHER_PATH)) return null
  const found = await findVoucher(readModel.reader, code)
  return found && { code, left: found.left }
}

async function show(visit: PageContext): Promise<PanelPage> {
  const { reader, moment } = visit.readModel
  const q = (visit.query.q ?? '').trim().slice(0, 120)
  const found = q === '' ? null : await searchAll(reader, q, visit.primary)
  const voucher = await findCode(visit, q)
  const shown = KINDS.filter(({ of }) => found && found[of].length > 0)
  const body = (
    <>
      {found && (
        <p role="status" class="hint">
          {shown.length === 0 && !voucher ? `Nada encontrado com “${q}”.` : `Encontrado com “${q}”:`}
        </p>
      )}
      {voucher && (
        <Card title="Vales-troca">
          <ul class="found">
            <li>
              <a href={link(VOUCHER_PATH, { codigo: voucher.code })}>{`Vale-troca ${voucher.code}`}</a>{' '}
              {`resta ${formatMoney(voucher.left)}`}
            </li>
          </ul>
        </Card>
      )}
      {shown.map((kind) => (
        <Card key={kind.of} title={kind.title} aside={allOf(kind, found?.[kind.of] ?? [], q, moment?.asked)}>
          <ul class="found">
            {found?.[kind.of].map((record) => (
              <li key={record.id}>
                <a href={link(`${kind.path}/${record.id}`, { em: moment?.asked })}>{kind.text(record, visit)}</a>
                <span class="number">{kind.detail(record)}</span>
                {record.status === 'cancelled' && <StateBadge state={SALE_STATES.cancelled} />}
              </li>
            ))}
          </ul>
        </Card>
      ))}
      {shown.length === 0 && !voucher && (
        <Nothing icon="search" title="O que você pode buscar">
          Vendas pelo número, pelo código externo, pelo valor (125 ou 12,50), pela chave da nota fiscal, pelo
          identificador do Pix ou pelo NSU do cartão; pedidos pelo número, por quem compra ou pelo valor; produtos pelo
          nome ou pelo código; clientes e fornecedores pelo nome, pelo CPF ou CNPJ ou pelos últimos números do telefone;
          contas pela descrição, pelo nome ou pelo valor.
        </Nothing>
      )}
    </>
  )
  return { title: 'Procurar', body }
}

const allOf = ({ all }: Kind, records: readonly FoundRecord[], q: string, em: string | undefined) =>
  all !== undefined && records.length === MAX_SEARCH_RESULTS ? <a href={link(all, { q, em })}>Ver todos</a> : null

export const searchPage: PanelRoute = { path: '/busca', section: 'search', asOf: true, show }
