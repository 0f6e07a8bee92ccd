import type { SalePaymentDetails } from '#domain/payment-rules.ts'
import { formatDateTime, formatTaxNumber } from '#domain/person-values.ts'
import type { FISCAL_DOCUMENT_STATUSES } from '#events/sale-events.ts'
import type { FiscalDocument, SaleObject } from '#projections/sales.ts'
import { SellerKey } from '#records/list-filters.ts'
import {
  choiceInput,
  lineInput,
  momentInput,
  namedOptions,
  type Option,
  webAddressInput,
} from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { PageContext } from '../panel-route.ts'
import { actorOptions, namesOfActors } from '../record-history.tsx'
import { Card, Facts, StateBadge, type StateMark } from '../ui/page-parts.tsx'
import { CARD_BRAND_NAMES } from '../words/record-words.ts'

/** Card or Pix of a payment in one line; empty if unknown. */
export function paymentDetailsText({ card, end_to_end_id }: SalePaymentDetails): string {
  const { brand, installments, nsu, authorization, acquirer_cnpj, integrated } = card ?? {}
  return [
    brand && CARD_BRAND_NAMES[brand],
    installments && `${installments}×`,
    nsu && `NSU ${nsu}`,
    authorization && `autorização ${authorization}`,
    acquirer_cnpj && `credenciadora ${formatTaxNumber(acquirer_cnpj)}`,
    integrated === true && 'TEF',
    integrated === false && 'POS',
    end_to_end_id && `Pix ${end_to_end_id}`,
  ]
    .filter(Boolean)
    .join(' · ')
}

type Value = (details: SalePaymentDetails) => string | number | null | undefined

const listed = (value: Value) => (sale: SaleObject) => {
  const values = sale.payments.flatMap((payment) => value(payment) ?? [])
  return values.length === 0 ? null : values.join(', ')
}

/** Columns of the sales file; several payments are separated by commas. */
export const PAYMENT_DETAIL_COLUMNS = [
  ['Bandeira do cartão', listed(({ card }) => card?.brand && CARD_BRAND_NAMES[card.brand])],
  ['NSU', listed(({ card }) => card?.nsu)],
  ['Autorização', listed(({ card }) => card?.authorization)],
  ['Parcelas', listed(({ card }) => card?.installments)],
  ['CNPJ da credenciadora', listed(({ card }) => card?.acquirer_cnpj && formatTaxNumber(card.acquirer_cnpj))],
  ['Identificador do Pix', listed(({ end_to_end_id }) => end_to_end_id)],
] as const

const isUser = (key: string): boolean => key.startsWith('user/')

/** Names of sellers for people; free names are withheld from users who see no personal data. */
export async function namesOfSellers(
  { readModel, session }: PageContext,
  keys: readonly string[],
): Promise<(key: string) => string> {
  const users = await namesOfActors(
    readModel,
    keys.filter(isUser).map((actor) => ({ actor })),
  )
  return (key) => {
    if (isUser(key)) return users(key)
    if (key === 'none') return 'Sem vendedor'
    return session.seesPersonalData ? key.slice('name/'.length) : 'Outro vendedor'
  }
}

/** Filter options: the users, no seller, and the seller in the address. */
export async function sellerOptions(visit: PageContext): Promise<Option[]> {
  const asked = visit.query.seller
  const users = (await actorOptions(visit.readModel)).filter(({ value }) => isUser(value))
  const options = [...users, { value: 'none', label: 'Sem vendedor' }]
  if (!asked || options.some(({ value }) => value === asked) || !SellerKey.safeParse(asked).success) return options
  return [...options, { value: asked, label: (await namesOfSellers(visit, [asked]))(asked) }]
}

const STATES: Readonly<Record<(typeof FISCAL_DOCUMENT_STATUSES)[number], StateMark>> = {
  authorized: ['good', 'Autorizado'],
  cancelled: ['plain', 'Cancelado'],
  contingency: ['warn', 'Em contingência'],
}

const NAMES = Object.fromEntries(Object.entries(STATES).map(([status, [, name]]) => [status, name]))

/** Whether a document prevents the cancellation of its sale (SALE-19). */
export const isInForce = (document: FiscalDocument | null): boolean =>
  document !== null && document.status !== 'cancelled'

export const FISCAL_DOCUMENT_FIELDS: Fields = {
  number: { label: 'Número do documento', kind: lineInput, isRequired: true, columns: 4 },
  series: { label: 'Série', kind: lineInput, columns: 2 },
  model: { label: 'Modelo', kind: lineInput, columns: 2, hint: '55, 65, 59…' },
  status: { label: 'Situação', kind: choiceInput(namedOptions(NAMES)), columns: 4 },
  access_key: { label: 'Chave de acesso', kind: lineInput, columns: 12, hint: '44 caracteres; espaços são ignorados.' },
  protocol: { label: 'Protocolo', kind: lineInput, columns: 6 },
  authorized_at: { label: 'Autorizado em', kind: momentInput, columns: 6, hint: 'Se vazio, usa a hora atual.' },
  xml_sha256: { label: 'SHA-256 do XML', kind: lineInput, columns: 12 },
  xml_url: { label: 'Endereço do XML', kind: webAddressInput, columns: 12 },
}

interface FiscalDocumentProps {
  readonly sale: SaleObject
  readonly timezone: string
}

/** Empty if the sale has none. */
export const FiscalDocumentCard = ({ sale: { fiscal_document: document }, timezone }: FiscalDocumentProps) =>
  document && (
    <Card title="Documento fiscal">
      <Facts
        facts={[
          ['Situação', <StateBadge key="status" state={STATES[document.status]} />],
          ['Número', document.number],
          ['Série', document.series],
          ['Modelo', document.model],
          ['Chave de acesso', document.access_key],
          ['Protocolo', document.protocol],
          ['Autorizado em', document.authorized_at && formatDateTime(document.authorized_at, timezone)],
          ['SHA-256 do XML', document.xml_sha256],
          [
            'XML',
            document.xml_url && (
              <a href={document.xml_url} rel="noreferrer">
                {document.xml_url}
              </a>
            ),
          ],
        ]}
      />
    </Card>
  )
