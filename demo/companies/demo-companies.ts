import type { RegisterCompanyInput } from '#commands/company-commands.ts'
import type { ReplaceItemInput } from '#commands/item-commands.ts'
import { type OfflineSale, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import type { ReplaceCustomerInput } from '#commands/person-commands.ts'
import type { CreatePaymentTypeInput } from '#commands/store-commands.ts'
import { addDays, dateInZone, daysFrom, localInstant } from '#domain/instant.ts'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'

/** Ids of the company's records for the sales. */
export interface DemoRecords {
  readonly items: readonly {
    readonly id: number
    readonly external_id: string | null
    readonly price: string
    readonly unit: string | null
  }[]
  readonly customers: readonly number[]
  readonly types: Readonly<Record<'cash' | 'debit' | 'credit' | 'pix' | 'account', number>>
}

const DAYS = 30
/** Sales per hour of an ordinary day, from opening to closing; the shop closes early on Sundays. */
const HOURS: readonly (readonly [hour: number, sales: number])[] = [
  [7, 2.2],
  [8, 2.6],
  [9, 1.6],
  [10, 1.5],
  [11, 2],
  [12, 1.8],
  [13, 1.1],
  [14, 1],
  [15, 1.2],
  [16, 1.6],
  [17, 2.4],
  [18, 2.9],
  [19, 1.7],
]
const SUNDAY_CLOSES = 13
/** Factors from Sunday to Saturday. */
const WEEKDAYS = [0.8, 0.85, 0.9, 0.95, 1, 1.3, 1.5]
/** End of the first clerk's shift. */
const SHIFT_HOUR = 13

/** Deterministic random numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A month of sales until an instant (UTC), by clerk, in the till's format, with a cash session for each shift. Peaks
 * in the morning, at noon and after work, and on Saturdays. The same for the same days, items and prices.
 */
export function monthOfSales(
  records: DemoRecords,
  now: string,
  timezone: string,
): readonly [morning: OfflineSale[], evening: OfflineSale[]] {
  const [morning, evening]: [OfflineSale[], OfflineSale[]] = [[], []]
  const today = dateInZone(now, timezone)
  for (const date of daysFrom(addDays(today, -DAYS), DAYS + 1)) {
    const weekday = new Date(`${date}T12:00:00.000Z`).getUTCDay()
    // By its date: a day is the same from whichever day on it is asked for.
    const random = numbers(Number(date.replaceAll('-', '')))
    const sold = { a: 0, b: 0 }
    for (const [hour, usual] of HOURS) {
      if (weekday === 0 && hour >= SUNDAY_CLOSES) continue
      const count = Math.floor(usual * (WEEKDAYS[weekday] ?? 1) + random())
      for (let n = 0; n < count; n++) {
        const minute = String(Math.floor(random() * 60)).padStart(2, '0')
        const sold_at = localInstant(`${date}T${String(hour).padStart(2, '0')}:${minute}`, timezone) ?? now
        const [shift, letter] = hour < SHIFT_HOUR ? ([morning, 'a'] as const) : ([evening, 'b'] as const)
        sold[letter] += 1
        const sale = saleOf(records, random, {
          offline_id: `demo-${letter}-${date}-${sold[letter]}`,
          cash_session_id: `demo-${letter}-${date}`,
          created_at: sold_at,
        })
        if (sold_at <= now) shift.push(sale)
      }
    }
  }
  return [morning, evening]
}

function saleOf(
  { items, customers, types }: DemoRecords,
  random: () => number,
  named: { readonly offline_id: string; readonly cash_session_id: string; readonly created_at: string },
): OfflineSale {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() ** 1.6 * from.length)] as T
  const chosen = new Set(Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(items)))
  const lines = [...chosen].map(({ id, price, unit }) => {
    const thousandths = unit === 'KG' ? 200 + Math.floor(random() * 1_300) : 1_000 * (1 + Math.floor(random() ** 2 * 4))
    return { id, price, thousandths, cents: lineTotal(thousandths, toCents(price)) }
  })
  const cents = lines.reduce((sum, line) => sum + line.cents, 0)
  const dice = random()
  const type =
    dice < 0.3
      ? types.pix
      : dice < 0.55
        ? types.debit
        : dice < 0.75
          ? types.credit
          : dice < 0.94
            ? types.cash
            : types.account
  const onAccount = type === types.account
  // Cash customers pay with notes.
  const given = type === types.cash ? Math.ceil(cents / 500) * 500 : cents
  const isCancelled = random() < 0.015
  const buyer = onAccount || random() < 0.12 ? pick(customers) : null
  const amount = (value: number) => Number(fromCents(value))
  return OfflineSaleInput.parse({
    ...named,
    total: amount(cents),
    amount_received: amount(given),
    change: amount(given - cents),
    status: isCancelled ? 'cancelled' : 'completed',
    customer_id: buyer,
    items: lines.map((line) => ({
      product_id: line.id,
      quantity: line.thousandths / 1_000,
      price: Number(line.price),
      total: amount(line.cents),
    })),
    payments: [{ payment_type_id: type, amount: amount(given), status: onAccount ? 'pending' : 'completed' }],
  })
}

/** Item with a category by external id. */
type DemoItem = Omit<ReplaceItemInput, 'category_id'> & { readonly category?: string }

/** Initial records of a demonstration company. */
export interface DemoCompany {
  readonly company: Omit<RegisterCompanyInput, 'id'>
  readonly user: { readonly name: string; readonly email: string }
  readonly paymentTypes: readonly CreatePaymentTypeInput[]
  readonly categories: readonly { readonly external_id: string; readonly name: string }[]
  readonly items: readonly DemoItem[]
  readonly customers: readonly ReplaceCustomerInput[]
  /** Its online store, in the sandbox; null for none. */
  readonly store: { readonly alias: string; readonly commission_percentage: string } | null
}

const paymentType = (
  name: string,
  kind: CreatePaymentTypeInput['kind'],
  fee_percentage = '0.00',
  rest: Partial<CreatePaymentTypeInput> = {},
): CreatePaymentTypeInput => ({ name, kind, fee_percentage, due_days: 30, ...rest })

const cash = paymentType('Dinheiro', 'cash')
const pix = paymentType('Pix', 'pix')

const [drinks, groceries, bakery, produce, cleaning] = ['bebidas', 'mercearia', 'padaria', 'hortifruti', 'limpeza']

function product(
  external_id: string,
  name: string,
  price: string,
  stock: string | null,
  rest: Partial<DemoItem> = {},
): DemoItem {
  return { external_id, type: 'product', name, price, stock, unit: 'UN', ...rest }
}

/** With all features: every kind of payment, products by piece and by weight, tracked or not, and a service. */
const grocery: DemoCompany = {
  company: {
    name: 'Mercearia Boa Vista',
    cnpj: '12.345.678/0001-95',
    plan: 'api',
    timezone: 'America/Sao_Paulo',
    logo_url: null,
    state_registration: '110042490114',
    tax_regime: 'simples_nacional',
  },
  user: { name: 'Ana Ribeiro', email: 'ana@mercearia-boa-vista.example' },
  paymentTypes: [
    cash,
    paymentType('Cartão de débito', 'card', '1.50', { acquirer_rate: '1.39', settles_in_days: 1 }),
    paymentType('Cartão de crédito', 'card', '3.50', {
      acquirer_rate: '3.19',
      acquirer_rate_2_6: '3.89',
      acquirer_rate_7_12: '4.49',
      settles_in_days: 30,
    }),
    pix,
    paymentType('Transferência bancária', 'transfer'),
    paymentType('Crediário', 'credit_account'),
    paymentType('Vale-troca', 'exchange_credit'),
    paymentType('Desconto de promoção', 'promotion'),
    paymentType('Resgate de cashback', 'cashback'),
    paymentType('Vale-alimentação', 'other', '5.00'),
  ],
  categories: [
    { external_id: drinks, name: 'Bebidas' },
    { external_id: groceries, name: 'Mercearia' },
    { external_id: bakery, name: 'Padaria' },
    { external_id: produce, name: 'Hortifrúti' },
    { external_id: cleaning, name: 'Limpeza' },
  ],
  items: [
    product('cafe-500g', 'Café torrado e moído 500 g', '18.90', '40', {
      barcode: '7890000010078',
      category: groceries,
      cost: '12.40',
      gtin: '7890000010078',
      ncm: '09012100',
      cest: '1709600',
    }),
    product('arroz-5kg', 'Arroz agulhinha tipo 1, 5 kg', '27.90', '35', {
      barcode: '7890000010146',
      category: groceries,
      cost: '21.30',
    }),
    product('feijao-1kg', 'Feijão carioca 1 kg', '8.49', '50', {
      barcode: '7890000010214',
      category: groceries,
      cost: '5.90',
      min_stock: '10',
    }),
    product('acucar-1kg', 'Açúcar refinado 1 kg', '4.79', '60', {
      barcode: '7890000010283',
      category: groceries,
      cost: '3.45',
    }),
    product('leite-1l', 'Leite integral 1 L', '5.29', '96', {
      barcode: '7890000010351',
      category: drinks,
      cost: '4.10',
    }),
    product('agua-500ml', 'Água mineral sem gás 500 ml', '2.50', '120', {
      barcode: '7890000010429',
      category: drinks,
      cost: '0.95',
    }),
    product('guarana-2l', 'Guaraná 2 L', '8.99', '48', { barcode: '7890000010498', category: drinks, cost: '6.20' }),
    product('pao-frances', 'Pão francês', '16.90', '12.5', { unit: 'KG', category: bakery, cost: '9.80' }),
    product('pao-de-queijo', 'Pão de queijo', '4.50', null, { category: bakery, cost: '1.90' }),
    product('banana-prata', 'Banana-prata', '6.49', '30.25', { unit: 'KG', category: produce, cost: '3.20' }),
    product('tomate', 'Tomate', '8.99', '18.4', { unit: 'KG', category: produce, cost: '4.75' }),
    product('detergente-500ml', 'Detergente neutro 500 ml', '2.79', '72', {
      barcode: '7890000010566',
      category: cleaning,
      cost: '1.85',
    }),
    product('sabao-1kg', 'Sabão em pó 1 kg', '13.90', '24', {
      barcode: '7890000010634',
      category: cleaning,
      cost: '9.60',
    }),
    { external_id: 'entrega', type: 'service', name: 'Entrega no bairro', price: '7.00' },
  ],
  customers: [
    {
      external_id: 'c-1',
      name: 'Maria de Lourdes Sá',
      person_type: 'PF',
      document: '23456789173',
      phone: '11912340001',
    },
    { external_id: 'c-2', name: 'João Batista Nogueira', person_type: 'PF', document: '34567891228' },
    { external_id: 'c-3', name: 'Helena Conceição', person_type: 'PF', email: 'helena@correio.example' },
    {
      external_id: 'c-4',
      name: 'Restaurante Sabor da Serra Ltda.',
      person_type: 'PJ',
      document: '34567890000130',
      email: 'compras@sabordaserra.example',
      address: {
        zip: '01310100',
        street: 'Avenida Paulista',
        number: '1000',
        district: 'Bela Vista',
        city: 'São Paulo',
        state: 'SP',
      },
      notes: 'Entregas até as 10 h.',
    },
  ],
  store: { alias: 'mercearia-boa-vista', commission_percentage: '5.00' },
}

/** In another time zone, with few records: shows that companies are isolated. */
const stationery: DemoCompany = {
  company: {
    name: 'Papelaria Aquarela',
    cnpj: '23.456.789/0001-95',
    plan: 'api',
    timezone: 'America/Manaus',
    logo_url: null,
  },
  user: { name: 'Caio Tavares', email: 'caio@papelaria-aquarela.example' },
  paymentTypes: [cash, pix],
  categories: [{ external_id: 'escolar', name: 'Material escolar' }],
  items: [
    product('caderno-96', 'Caderno universitário 96 folhas', '14.90', '80', {
      barcode: '7890000010702',
      category: 'escolar',
    }),
    product('caneta-azul', 'Caneta esferográfica azul', '2.20', '300', {
      barcode: '7890000010771',
      category: 'escolar',
    }),
  ],
  customers: [{ external_id: 'c-1', name: 'Escola Girassol', person_type: 'PJ', document: '45678912000155' }],
  store: null,
}

/** Without the API plan: its keys get 402. */
const hardware: DemoCompany = {
  company: {
    name: 'Ferragens do Vale',
    cnpj: '56.789.123/0001-08',
    plan: 'basic',
    timezone: 'America/Sao_Paulo',
    logo_url: null,
  },
  user: { name: 'Rita Moreira', email: 'rita@ferragens-do-vale.example' },
  paymentTypes: [cash, pix],
  categories: [],
  items: [product('parafuso-6x40', 'Parafuso 6 × 40 mm', '0.35', '5000')],
  customers: [],
  store: null,
}

/** Same order as in demo.json. */
export const DEMO_COMPANIES: readonly DemoCompany[] = [grocery, stationery, hardware]
