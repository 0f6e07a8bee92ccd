import { ChargeReceivableInput, chargeReceivable } from '#commands/order-charge.ts'
import { formatMoney } from '#domain/person-values.ts'
import { isRefusal } from '#ledger/command.ts'
import type { CustomerOfReceivable } from '#projections/finance.ts'
import { getAccount, receivableListing } from '#queries/account-queries.ts'
import { listStores } from '#queries/company-queries.ts'
import { choiceInput, lineInput, phoneInput } from '../forms/input-kinds.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelRoute } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import type { Account } from './account-parts.tsx'
import { ORDERS_PATH } from './order-lists.tsx'

interface Charge {
  readonly account: Account<CustomerOfReceivable>
  /** Aliases of the stores that take payments. */
  readonly stores: readonly string[]
}

const MAX_STORES = 200

async function chargeOf(visit: PageContext): Promise<Charge | null> {
  const { reader, today } = visit.readModel
  const account = await loadRecord<Account<CustomerOfReceivable>>(visit, (_visit, id) =>
    getAccount(reader, receivableListing, id, today),
  )
  if (!account) return null
  const stores = (await listStores(reader, MAX_STORES)).filter(({ enabled }) => enabled)
  return { account, stores: stores.map(({ alias }) => alias) }
}

function obstacleOf({ account, stores }: Charge): string | null {
  if (account.status === 'settled') return 'A conta já está recebida.'
  return stores.length === 0 ? 'Nenhuma loja ligada: crie ou ligue uma em Loja online.' : null
}

/** *Cobrar*: a payment link over what is open of a receivable. */
export const chargePages: readonly PanelRoute[] = formPages({
  path: '/contas-a-receber/:id/cobrar',
  section: 'receivables',
  access: 'receive',
  subject: chargeOf,
  obstacle: obstacleOf,
  title: ({ account }) => `Cobrar ${account.description}`,
  intro: ({ account }) => (
    <p>
      O link cobra <strong>{formatMoney(account.open_amount)}</strong>, o que está em aberto, e baixa a conta quando for
      pago. <a href={link('/loja', { receivable_id: account.id })}>Ver os links já criados desta conta</a>
    </p>
  ),
  label: 'Criar link de cobrança',
  back: ({ account }) => `/contas-a-receber/${account.id}`,
  fields: ({ account, stores }) => ({
    ...(account.customer_name === null && {
      name: { label: 'Nome de quem paga', kind: lineInput, isRequired: true, columns: 6 },
    }),
    phone: {
      label: 'Telefone (WhatsApp)',
      kind: phoneInput,
      columns: 6,
      hint: 'Se vazio, o do cadastro do cliente.',
    },
    ...(stores.length > 1 && {
      store_alias: {
        label: 'Loja',
        kind: choiceInput(stores.map((alias) => ({ value: alias, label: alias }))),
        isRequired: true,
        columns: 6,
      },
    }),
  }),
  schema: ChargeReceivableInput.omit({ id: true }).partial({ store_alias: true }),
  async act(submission, { account, stores }, input) {
    const { store_alias = stores[0] ?? '', ...rest } = input
    const answer = await submission.run(chargeReceivable, { ...rest, id: account.id, store_alias })
    if (isRefusal(answer)) return answer
    return { to: `${ORDERS_PATH}/${(answer.record as { id: number }).id}`, flash: 'pedido-criado' as const }
  },
})
