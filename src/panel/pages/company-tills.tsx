import QRCode from 'qrcode'
import * as z from 'zod'
import { readPrintedSale, recoverSale } from '#commands/recover-sale.ts'
import { endTill, GivenUp, giveUpElements } from '#commands/till-commands.ts'
import { formatCount, formatDateTime } from '#domain/person-values.ts'
import { MAX_RECEIPT_TEXT } from '#domain/receipt-code.ts'
import { limitedText } from '#domain/text.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { NumberRange } from '#projections/tills.ts'
import { type CompanyTill, listTills } from '#queries/chain-queries.ts'
import { lineInput } from '../forms/input-kinds.ts'
import { reasonField } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { Card, PanelBadge } from '../ui/page-parts.tsx'
import { ListTable } from '../ui/panel-list.tsx'
import { rangesText } from '../words/event-words.ts'

const PATH = '/caixas/aparelhos'
const RECOVER = '/caixas/recuperar'
const OPEN = '/caixas/abrir'
const TILLS = { label: 'Caixas', to: '/caixas' }

/** Address of the till's own app. */
const TILL_APP = '/caixa'

/** Gaps shown of each till; a hostile client could make a thousand. */
const SHOWN_GAPS = 20

/** A gap in words: what came before and after it, and what did not. */
export function gapText({ number, last_number, missing }: CompanyTill, [from, to]: NumberRange): string {
  const before = from > 1 ? from - 1 : null
  const after = missing.some(([, end]) => end > to) || to < last_number ? to + 1 : null
  const came = [before, after].filter((each) => each !== null)
  const lost = `${from === to ? 'a' : 'as'} ${rangesText([[from, to]])}`
  if (came.length === 0)
    return `Caixa ${number}: ${lost.replace(' ', from === to ? ' venda ' : ' vendas ')} não ${from === to ? 'chegou' : 'chegaram'}`
  const known = came.length === 1 ? `a venda ${came[0]} chegou` : `as vendas ${came[0]} e ${came[1]} chegaram`
  return `Caixa ${number}: ${known}, ${lost} não`
}

/** Tills of which something is missing. */
export const tillsWithGaps = async ({ readModel }: PageContext): Promise<CompanyTill[]> =>
  (await listTills(readModel.reader)).filter(({ missing }) => missing.length > 0)

/** The gaps of a till in one sentence each. */
export const gapTexts = (till: CompanyTill): string[] =>
  till.missing.slice(0, SHOWN_GAPS).map((gap) => gapText(till, gap))

const Gaps = ({ till, visit }: { readonly till: CompanyTill; readonly visit: PageContext }) =>
  till.missing.length === 0 ? null : (
    <ul class="warnings">
      {till.missing.slice(0, SHOWN_GAPS).map((gap) => {
        const to = `${PATH}/${till.id}/perdidas/${gap[0]}/${gap[1]}`
        return (
          <li key={gap[0]}>
            {gapText(till, gap)}.{' '}
            {visit.reaches('POST', to) && <a href={link(to)}>Dar por {gap[0] === gap[1] ? 'perdida' : 'perdidas'}</a>}
          </li>
        )
      })}
    </ul>
  )

/** Tills that number and sign what they record, with what has not come. */
export async function CompanyTills({ visit }: { readonly visit: PageContext }) {
  const { reader, timezone } = visit.readModel
  const tills = await listTills(reader)
  return (
    <Card
      title="Aparelhos"
      aside={
        <>
          <a href={link(OPEN)}>Abrir um caixa</a>
          {visit.reaches('POST', RECOVER) && <a href={link(RECOVER)}>Recuperar venda pelo cupom</a>}
        </>
      }
    >
      <ListTable
        isList
        caption="Aparelhos"
        rows={tills}
        empty="Nenhum caixa aberto ainda."
        columns={[
          { head: 'Caixa', cell: ({ number, name }) => `${number} · ${name}` },
          {
            head: 'Último contato',
            cell: ({ last_seen_at }) => (last_seen_at === null ? 'Nenhum' : formatDateTime(last_seen_at, timezone)),
          },
          { head: 'Último número', cell: ({ last_number }) => formatCount(last_number), isNumber: true, isExtra: true },
          { head: 'Faltam', cell: (till) => <Gaps till={till} visit={visit} /> },
          {
            head: '',
            cell: ({ id, ended_at }) =>
              ended_at !== null ? (
                <PanelBadge tone="plain">Encerrado</PanelBadge>
              ) : (
                visit.reaches('POST', `${PATH}/${id}/encerrar`) && (
                  <a href={link(`${PATH}/${id}/encerrar`)}>Encerrar caixa</a>
                )
              ),
          },
        ]}
      />
    </Card>
  )
}

async function tillOf({ readModel, params }: PageContext): Promise<CompanyTill | null> {
  const id = pathId(params.id)
  return (await listTills(readModel.reader)).find((till) => till.id === id) ?? null
}

const titleOf = ({ number, name }: CompanyTill) => `Caixa ${number} · ${name}`

async function gapOf(visit: PageContext) {
  const till = await tillOf(visit)
  const [from, to] = [pathId(visit.params.from), pathId(visit.params.to)]
  return till && from !== null && to !== null && from <= to ? { till, gap: [from, to] as const } : null
}

async function showOpening({ context }: PageContext): Promise<PanelPage> {
  const address = `${context.environment.publicUrl}${TILL_APP}`
  const image = await QRCode.toString(address, { type: 'svg', margin: 2 })
  const body = (
    <>
      <Card title="Neste aparelho">
        <p>O caixa abre no navegador e vende também sem conexão. Entre com o seu e-mail e a sua senha.</p>
        <p>
          <a class="button main" href={TILL_APP}>
            Abrir o caixa aqui
          </a>
        </p>
      </Card>
      <Card title="Em outro aparelho">
        <p>Leia o QR Code com a câmera do outro aparelho, ou digite o endereço nele:</p>
        <div class="qr" role="img" aria-label="QR Code do caixa" dangerouslySetInnerHTML={{ __html: image }} />
        <p>
          <code>{address}</code>
        </p>
      </Card>
    </>
  )
  return { title: 'Abrir um caixa', parent: TILLS, body }
}

const ReceiptCode = z.object({
  code: limitedText(MAX_RECEIPT_TEXT, 'não é o código de um cupom').min(1, 'leia o código do cupom'),
})

export const companyTillPages: readonly PanelRoute[] = [
  { path: OPEN, section: 'tills', show: showOpening },
  ...formPages({
    section: 'tills',
    access: 'sell',
    path: RECOVER,
    subject: () => ({}),
    title: () => 'Recuperar venda pelo cupom',
    label: 'Recuperar venda',
    back: () => '/caixas',
    intro: () => (
      <p>
        Para uma venda que não chegou do caixa: leia com o leitor o QR Code impresso no cupom. Um cupom grande tem mais
        de um código: leia todos no mesmo campo.
      </p>
    ),
    fields: () => ({ code: { label: 'Código do cupom', kind: lineInput, isRequired: true, columns: 12 } }),
    schema: ReceiptCode,
    async act(submission, _subject, { code }) {
      const printed = readPrintedSale(code)
      if (isRefusal(printed)) return printed
      const answer = await submission.run(recoverSale, printed)
      if (isRefusal(answer)) return answer
      const { id } = answer.record as { id: number }
      return { to: `/vendas/${id}`, flash: answer.outcome === 'unchanged' ? 'venda-ja-registrada' : 'venda-recuperada' }
    },
  }),
  ...formPages({
    section: 'tills',
    access: 'manage_company',
    path: `${PATH}/:id/encerrar`,
    subject: tillOf,
    title: titleOf,
    label: 'Encerrar caixa',
    isDangerous: true,
    back: () => '/caixas',
    obstacle: ({ ended_at }) => (ended_at === null ? null : 'Este caixa já foi encerrado.'),
    intro: () => (
      <p>
        O aparelho sai na hora e não volta a ser este caixa. As vendas que ainda estiverem nele chegam com aviso quando
        alguém entrar. Esta ação não pode ser desfeita.
      </p>
    ),
    fields: () => ({}),
    schema: z.object({}),
    async act(submission, { id }) {
      const answer = await submission.run(endTill, { id })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'caixa-encerrado' }
    },
  }),
  ...formPages({
    section: 'tills',
    access: ['see_all_sales', 'cancel_all'],
    path: `${PATH}/:id/perdidas/:from/:to`,
    subject: gapOf,
    title: ({ till }) => titleOf(till),
    label: 'Dar por perdida',
    isDangerous: true,
    back: () => '/caixas',
    intro: ({ till, gap: [from, to] }) => (
      <p>
        {`${gapText(till, [from, to])}. `}Deixa de faltar e fica no histórico. Se chegar depois, é registrada mesmo
        assim.
      </p>
    ),
    fields: () => ({ reason: reasonField('Fica na auditoria.') }),
    schema: GivenUp,
    async act(submission, { till: { id }, gap: [from, to] }, { reason }) {
      const answer = await submission.run(giveUpElements, { id, from, to, reason })
      return isRefusal(answer) ? answer : { to: '/caixas', flash: 'dada-por-perdida' }
    },
  }),
]
