import type { oas31 } from 'zod-openapi'
import { componentsOfRequests, REF, VALUES } from './generators.ts'

type Schema = oas31.SchemaObject & { readonly 'x-extensible-enum'?: readonly unknown[] }

/**
 * Lists of values of a document by a place where each stands: a field (`Sale.status`) or a parameter
 * (`listSales?fiscal`). Lists with the same values are one list.
 */
export interface ValueLists {
  /** Name of each list: the component that generators make a type of. */
  readonly names: Readonly<Record<string, string>>
  /** Lists that grow within a version (docs/versioning.md): open texts in answers. */
  readonly growing: readonly string[]
}

export const API_LISTS: ValueLists = {
  names: {
    AccountOrigin: 'Receivable.origin',
    AccountPaymentKind: 'AccountPayment.kind',
    AccountStatus: 'Receivable.status',
    AccountStatusFilter: 'listReceivables?status',
    AlarmFilter: 'listOrders?alarm',
    CardBrand: 'SaleCard.brand',
    CashSessionStatus: 'CashSession.status',
    CountMode: 'InventoryCountsInput.mode',
    CreditMovementKind: 'CreditMovement.kind',
    DeliveryEvent: 'listWebhookDeliveries?event',
    DeliveryStatus: 'WebhookDelivery.status',
    DisputeStatus: 'Dispute.status',
    EventOrigin: 'LedgerEvent.origin',
    FiscalDocumentStatus: 'FiscalDocument.status',
    FiscalFilter: 'listSales?fiscal',
    ForgettingGround: 'ForgetInput.ground',
    HttpMethod: 'listRequests?method',
    IeIndicator: 'Customer.ie_indicator',
    InventoryStatus: 'Inventory.status',
    ItemType: 'CatalogItem.type',
    NotificationOutcome: 'Notification.outcome',
    OnlineMethod: 'OrderPayment.method',
    OrderStatus: 'Order.status',
    Origin: 'Sale.origin',
    PauseReason: 'Webhook.pause_reason',
    PaymentKind: 'PaymentType.kind',
    PaymentTypeInputKind: 'PaymentTypeInput.kind',
    PersonType: 'Customer.person_type',
    Plan: 'Me.plan',
    RecordedMovementKind: 'StockMovementInput.kind',
    RefundStatus: 'Refund.status',
    ReplayStatus: 'WebhookReplay.status',
    RetentionNeedKind: 'RetentionNeed.kind',
    SaleStatus: 'Sale.status',
    State: 'AddressInput.state',
    StockMovementKind: 'StockMovement.kind',
    TaxRegime: 'MeCompany.tax_regime',
    WebhookStatus: 'Webhook.status',
    WebhookSubscription: 'RegisterWebhookInput.events',
  },
  growing: [
    'ErrorDetails.missing_scope',
    'EventNotice.event',
    'MeKey.scopes',
    'OrderAlarm.code',
    'PaymentMethod.code',
    'ReturnWarning.code',
    'SaleWarning.code',
    'Warning.code',
    'Webhook.events',
    'WebhookDelivery.event',
  ],
}

/**
 * Makes each list of values a component, because generators name the types of others by their position. In answers, a
 * list that grows becomes an open text with its known values.
 */
export function nameLists(document: oas31.OpenAPIObject, { names, growing }: ValueLists): void {
  const schemas = { ...document.components?.schemas } as Record<string, Schema>
  const byKey = new Map(Object.entries(names).map(([name, place]) => [keyAt(document, place), name]))
  const open = new Set(growing.map((place) => keyAt(document, place)))
  const ofRequests = componentsOfRequests(document)

  const named = ({ enum: values = [], type: _, ...rest }: Schema, place: string, isRequest: boolean): Schema => {
    const key = keyOf(values)
    if (!isRequest && open.has(key)) return { ...rest, type: 'string', 'x-extensible-enum': values }
    const name = byKey.get(key)
    if (name === undefined) throw new Error(`contract: the list of values in ${place} has no name (contract/lists.ts)`)
    const component = values.includes('') ? `${name}Input` : name
    schemas[component] = { type: 'string', enum: values }
    return { ...rest, $ref: `${REF}${component}` }
  }
  const visit = <T>(node: T, place: string, isRequest: boolean): T => {
    if (Array.isArray(node)) return node.map((each) => visit(each, place, isRequest)) as T
    if (typeof node !== 'object' || node === null) return node
    if ('enum' in node && Array.isArray(node.enum)) return named(node as Schema, place, isRequest) as T
    const inner = ([member, value]: [string, unknown]) =>
      VALUES.has(member)
        ? [member, value]
        : [member, visit(value, `${place}.${member}`, isRequest || member === 'parameters')]
    return Object.fromEntries(Object.entries(node).map(inner)) as T
  }
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = visit(schema, name, ofRequests.has(name))
  document.paths = visit(document.paths, 'paths', false) as NonNullable<oas31.OpenAPIObject['paths']>
  document.components = { ...document.components, schemas }
}

/** The values of a list in any order, with or without the empty text that clears a field. */
const keyOf = (values: readonly unknown[]): string => JSON.stringify(values.filter((value) => value !== '').sort())

/** Key of the values at `Component.field` or `operation?parameter`; null in a document of other operations. */
function keyAt({ paths, components }: oas31.OpenAPIObject, place: string): string | null {
  const [owner = '', member = ''] = place.split(/[.?]/)
  const operations = Object.values(paths ?? {}).flatMap((item) => Object.values(item as Record<string, Operation>))
  const { parameters = [] } = operations.find(({ operationId }) => operationId === owner) ?? {}
  const schema = place.includes('?')
    ? parameters.find(({ name }) => name === member)?.schema
    : (components?.schemas?.[owner] as Schema | undefined)?.properties?.[member]
  const values = valuesOf(schema as Schema | undefined)
  return values ? keyOf(values) : null
}

interface Operation {
  readonly operationId?: string
  readonly parameters?: readonly oas31.ParameterObject[]
}

function valuesOf(schema: Schema | undefined): readonly unknown[] | undefined {
  if (schema?.enum !== undefined) return schema.enum
  const inner = [schema?.items, ...(schema?.oneOf ?? [])] as (Schema | undefined)[]
  return inner.find((each) => each?.enum !== undefined)?.enum
}
