import { formatDay, formatMoney, formatPersonName } from '#domain/brazilian-format.ts'
import { type Debtor, listDebtors } from '#queries/finance/open-balances.ts'
import { link } from '../../link.ts'
import type { PageContext, PageRoute, PanelPage, Section } from '../../route.ts'
import { AsOfForm } from '../../ui/history.tsx'
import { type Column, ListTable } from '../../ui/list-table.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Card, Stat, Stats } from '../../ui/parts.tsx'
import {
  AGE_NAMES,
  AgeStats,
  accountCount,
  type BalancePageSide,
  OpenFigure,
  OverdueFigure,
  PAYABLE,
  Partial,
  RECEIVABLE,
} from './open-balances.tsx'

const ROWS = 50

/** Zero amounts would clutter a large table. */
const moneyIfAny = (amount: string): string => (amount === '0.00' ? '—' : formatMoney(amount))

const columnsOf = ({ parties, words, figures }: BalancePageSide): Column<Debtor>[] => [
  { head: words.party, cell: (debtor) => <Name debtor={debtor} parties={parties} noParty={words.noParty} /> },
  { head: 'Vencimento mais antigo', cell: ({ since }) => since && formatDay(since) },
  { head: 'Contas', cell: ({ count }) => count, isNumber: true, isExtra: true },
  { head: AGE_NAMES.not_due, cell: ({ ages }) => moneyIfAny(ages.not_due), isNumber: true, isExtra: true },
  { head: AGE_NAMES.to_30, cell: ({ ages }) => moneyIfAny(ages.to_30), isNumber: true, isExtra: true },
  { head: '31–60', cell: ({ ages }) => moneyIfAny(ages.to_60), isNumber: true, isExtra: true },
  { head: '61–90', cell: ({ ages }) => moneyIfAny(ages.to_90), isNumber: true, isExtra: true },
  { head: 'Mais de 90', cell: ({ ages }) => moneyIfAny(ages.older), isNumber: true, isExtra: true },
  {
    head: 'Total',
    cell: ({ id, amount }) => <OpenFigure of={`${figures.party}/${id ?? 'nenhum'}`} amount={amount} />,
    isNumber: true,
  },
]

interface NameProps {
  readonly debtor: Debtor
  readonly parties: string
  readonly noParty: string
}

/** A deleted party has a page until its accounts are paid. */
const Name = ({ debtor: { id, name, is_deleted }, parties, noParty }: NameProps) =>
  id === null ? (
    noParty
  ) : (
    <>
      <a href={link(`${parties}/${id}`)}>{formatPersonName(name)}</a>
      {is_deleted && ' (excluído)'}
    </>
  )

/** Number of pages before this one; 0 for an invalid value. */
const pagesBefore = (cursor: string | undefined): number => (/^[1-9]\d{0,3}$/.test(cursor ?? '') ? Number(cursor) : 0)

/** Balances by party, largest first (PANEL-162). */
async function show(owedSide: BalancePageSide, visit: PageContext): Promise<PanelPage> {
  const { reader, today } = visit.readModel
  const { words, accounts, figures } = owedSide
  const before = pagesBefore(visit.query.cursor)
  const skip = before * ROWS
  const found = await listDebtors(reader, owedSide.side, { today, skip, limit: ROWS })
  const { total, parties, page } = found
  const body = (
    <>
      <Stats>
        <Stat
          label="Em aberto"
          value={<OpenFigure of={figures.all} amount={total.amount} />}
          to={accounts}
          hint={accountCount(total.count)}
        />
        <Stat
          label="Vencido"
          value={<OverdueFigure of={figures.all} amount={total.overdue} />}
          to={accounts}
          parameters={{ view: 'overdue' }}
        />
      </Stats>
      <ListTable
        isList
        caption={words.all}
        rows={page}
        columns={columnsOf(owedSide)}
        empty="Nenhuma conta em aberto."
      />
      <Pager path={visit.path} query={visit.query} next={skip + ROWS < parties ? String(before + 1) : null} />
      <Card title="Por vencimento">
        <AgeStats owed={total} />
        {found.isPartial && <Partial />}
      </Card>
      <AsOfForm visit={visit} />
    </>
  )
  return { title: words.all, parent: { label: 'Contas', to: accounts }, body }
}

const pageOf = (side: BalancePageSide, section: Section): PageRoute => ({
  path: `${side.accounts}/em-aberto`,
  section,
  asOf: true,
  show: (visit) => show(side, visit),
})

export const debtorPages: readonly PageRoute[] = [pageOf(RECEIVABLE, 'receivables'), pageOf(PAYABLE, 'payables')]
