import { formatDateTime } from '#domain/brazilian-format.ts'
import type { FISCAL_DOCUMENT_STATUSES } from '#events/sales.ts'
import type { FiscalDocument, SaleObject } from '#projections/sales.ts'
import type { Fields } from '../../forms/form.ts'
import { choiceInput, lineInput, momentInput, namedOptions, webAddressInput } from '../../forms/kinds.ts'
import { Card, Facts, StateBadge, type StateMark } from '../../ui/parts.tsx'

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
