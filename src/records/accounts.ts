import * as z from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { ACCOUNT_PAYMENT_KINDS, PAYMENT_METHOD_NAMES } from '#domain/payment-rules.ts'
import { MetadataInput } from '#domain/record-values.ts'
import { boundedText, ExternalId, Id, NewExternalId } from '#domain/text.ts'
import { ACCOUNT_ORIGINS } from '#events/person-events.ts'
import {
  Amount,
  ContractMetadata,
  ContractRecordId,
  Day,
  type DefinitionOf,
  filterField,
  NullableText,
  optionalField,
  QueryId,
  type RecordedFields,
  requiredField,
  serviceField,
  Timestamp,
} from './field.ts'

/** Greater than zero. */
export const PositiveMoney = Money.refine((value) => value !== '0.00', 'deve ser maior que zero')

/** Fields of receivables and payables. */
export const ACCOUNT_FIELDS = {
  external_id: optionalField('code', 'Código externo', NewExternalId.nullish(), {
    hint: 'Código desta conta em outro sistema (opcional).',
  }),
  description: requiredField('text', 'Descrição', boundedText(200), z.string(), { description: 'Descrição.' }),
  amount: requiredField('money', 'Valor', PositiveMoney, Amount, { description: 'Valor.' }),
  due_date: requiredField('day', 'Vencimento', CalendarDate, Day, { description: 'Vencimento.' }),
  metadata: optionalField('metadata', 'Metadados', MetadataInput.nullish(), { answer: ContractMetadata }),
}

/** Counterparty in requests, by one of its ids, and in answers with its name. */
const PARTY_ID = { input: Id.nullish(), answer: ContractRecordId.nullable() }

export const CUSTOMER_OF_ACCOUNT = {
  customer_id: optionalField('reference', 'Número do cliente', PARTY_ID.input, {
    answer: PARTY_ID.answer,
    description: 'Id do cliente.',
  }),
  customer_external_id: optionalField('reference', 'Código externo do cliente', ExternalId.nullish(), {
    description: '`external_id` do cliente.',
  }),
}

export const SUPPLIER_OF_ACCOUNT = {
  supplier_id: optionalField('reference', 'Número do fornecedor', PARTY_ID.input, {
    answer: PARTY_ID.answer,
    description: 'Id do fornecedor.',
  }),
  supplier_external_id: optionalField('reference', 'Código externo do fornecedor', ExternalId.nullish(), {
    description: '`external_id` do fornecedor.',
  }),
}

const Installment = z
  .strictObject({
    group: ContractRecordId,
    number: z.int().positive(),
    count: z.int().positive(),
    repeats: z.literal(true).optional(),
  })
  .meta({ id: 'Installment' })

const ACCOUNT_ORIGIN_NAMES: Readonly<Record<(typeof ACCOUNT_ORIGINS)[number], string>> = {
  api: 'API',
  // Tills upload sales only: other accounts are created in the panel, or by an operator.
  pdv: 'Painel',
  sale: 'Venda a prazo',
}

/** Where accounts come from; the recorded part of what the service adds. */
const ACCOUNT_SOURCE = {
  origin: {
    ...serviceField('choice', 'Origem', z.enum(ACCOUNT_ORIGINS), {
      description: 'De onde veio: `api`, `pdv`, ou `sale` se uma venda a gerou; esta a API só lê.',
    }),
    names: ACCOUNT_ORIGIN_NAMES,
  },
  sale_id: serviceField('record', 'Venda', ContractRecordId.nullable(), { description: 'A venda que gerou a conta.' }),
  installment: serviceField('list', 'Parcela', Installment.nullable(), {
    description: 'A parcela, ou a repetição, que a conta é; null para uma conta só.',
  }),
}

const AccountPayment = z
  .strictObject({
    id: ContractRecordId,
    kind: z.enum(ACCOUNT_PAYMENT_KINDS),
    amount: Amount,
    interest: Amount,
    fine: Amount,
    discount: Amount,
    excess: Amount,
    received: Amount,
    payment_method: NullableText,
    paid_at: Timestamp,
    paid_on: Day,
    receipt: ContractRecordId,
    cash_session_id: NullableText,
    order_id: ContractRecordId.nullable(),
    created_at: Timestamp,
    reversed_at: Timestamp.nullable(),
    reversal_reason: NullableText,
  })
  .meta({ id: 'AccountPayment' })

/** What the service adds. */
export const ACCOUNT_STATE = {
  ...ACCOUNT_SOURCE,
  status: serviceField('text', 'Situação', z.enum(['pending', 'settled']), {
    description: '`pending` ou `settled`; veja também `is_overdue`.',
  }),
  paid_amount: serviceField('money', 'Pago', Amount, {
    description: 'Quanto da conta os pagamentos que valem cobrem.',
  }),
  open_amount: serviceField('money', 'Em aberto', Amount, {
    description: 'Quanto da conta está em aberto: `amount` − `paid_amount`. Com 0.00 a conta está quitada.',
  }),
  paid_at: serviceField('moment', 'Data do pagamento', Timestamp.nullable(), { description: 'Quando foi paga.' }),
  payment_method: {
    ...serviceField('text', 'Forma de pagamento', NullableText, {
      description: 'Como foi paga: um código de GET /finance/payment-methods ou outro texto, de até 60 caracteres.',
    }),
    names: PAYMENT_METHOD_NAMES,
  },
  settled_on: serviceField('day', 'Data contábil', Day.nullable(), {
    description: 'Data contábil: o dia de `paid_at` no calendário da empresa.',
  }),
  payments: serviceField('list', 'Pagamentos', z.array(AccountPayment), {
    description: 'Os pagamentos, na ordem em que foram registrados; também os estornados.',
  }),
  created_at: serviceField('moment', 'Lançamento', Timestamp),
  updated_at: serviceField('moment', 'Última alteração', Timestamp),
  is_overdue: serviceField('yes_or_no', 'Vencida', z.boolean(), {
    description:
      'Se está vencida: pendente, com vencimento antes de hoje no calendário da empresa. Muda com o dia, sem que o registro mude.',
  }),
}

/** As recorded: with the party's name as of the event. */
export const RECEIVABLE_FIELDS = {
  ...ACCOUNT_FIELDS,
  ...CUSTOMER_OF_ACCOUNT,
  customer_name: serviceField('person_name', 'Cliente', NullableText, {
    description: 'Nome do cliente, como se chamava quando foi informado.',
  }),
} satisfies DefinitionOf<Omit<RecordedFields<'ReceivableCreated'>, keyof typeof ACCOUNT_SOURCE>>

export const PAYABLE_FIELDS = {
  ...ACCOUNT_FIELDS,
  ...SUPPLIER_OF_ACCOUNT,
  supplier_name: serviceField('person_name', 'Fornecedor', NullableText, {
    description: 'Nome do fornecedor, como se chamava quando foi informado.',
  }),
} satisfies DefinitionOf<Omit<RecordedFields<'PayableCreated'>, keyof typeof ACCOUNT_SOURCE>>

/** Days are the company's, inclusive; `overdue` are pending accounts whose due day has passed. */
export const ACCOUNT_FILTERS = {
  status: filterField('text', 'Situação', z.enum(['pending', 'settled', 'overdue'])),
  origin: filterField('text', 'Origem', z.enum(ACCOUNT_ORIGINS)),
  external_id: filterField('code', 'Código externo', ExternalId),
  installment_group: filterField('record', 'Parcelas de', QueryId, {
    description: 'As parcelas criadas juntas, pelo id da primeira.',
  }),
  due_from: filterField('day', 'Vencimento de', CalendarDate, { description: 'Vencimento a partir deste dia.' }),
  due_to: filterField('day', 'Vencimento até', CalendarDate, { description: 'Vencimento até este dia, inclusive.' }),
  paid_from: filterField('day', 'Data contábil de', CalendarDate, { description: 'Data contábil a partir deste dia.' }),
  paid_to: filterField('day', 'Data contábil até', CalendarDate, {
    description: 'Data contábil até este dia, inclusive.',
  }),
}

/** For people; pending accounts unless a view is chosen. */
export const ACCOUNT_SEARCH = {
  view: filterField('text', 'Situação', z.enum(['pending', 'overdue', 'settled', 'all'])),
  due_from: ACCOUNT_FILTERS.due_from,
  due_to: ACCOUNT_FILTERS.due_to,
  /** Substring of the party's name. */
  party_name: filterField('text', 'Nome', boundedText(120)),
}
