import * as z from 'zod'
import { BrandColor } from '#domain/images.ts'
import { isTimeZone } from '#domain/instant.ts'
import { normalizePercentage, Percentage } from '#domain/money.ts'
import { Cnpj, PixKey } from '#domain/person-values.ts'
import { boundedText, expects, limitedText, nameText, orDefault, Phone } from '#domain/text.ts'
import { type BusinessType, PAYMENT_KINDS, type PaymentKind, PLANS, type TAX_REGIMES } from '#events/company-events.ts'
import {
  Amount,
  choiceField,
  type DefinitionOf,
  optionalField,
  type RecordedFields,
  requiredField,
  serviceField,
  Timestamp,
} from './field.ts'
import { STATE_REGISTRATION } from './persons.ts'

export const PAYMENT_KIND_NAMES: Readonly<Record<PaymentKind, string>> = {
  cash: 'Dinheiro',
  card: 'Cartão',
  pix: 'Pix',
  transfer: 'Transferência',
  credit_account: 'Crediário ou convênio (a prazo)',
  exchange_credit: 'Crédito de troca',
  promotion: 'Promoção',
  cashback: 'Cashback',
  online: 'Loja online',
  other: 'Outra',
}

/** Stored with exactly two decimals. */
const Rate = Percentage.transform(normalizePercentage)

const rateField = (label: string, description: string, hint: string) =>
  optionalField('percentage', label, Rate.nullish(), { answer: Amount.nullable(), description, hint })

/** Ten years. */
const MAX_DUE_DAYS = 3650
/** Acquirers pay within a year: a longer term is a mistake. */
const MAX_SETTLEMENT_DAYS = 365

const DueDays = z.int().min(0).max(MAX_DUE_DAYS)

/** Of a payment type without them. */
export const PAYMENT_TYPE_DEFAULTS = { fee_percentage: '0.00', due_days: 30 } as const

/** The type of kind `online` is made with the online store. */
export const PAYMENT_TYPE_FIELDS = {
  name: requiredField('text', 'Nome', nameText(60), z.string()),
  kind: {
    ...requiredField('choice', 'Tipo', z.enum(PAYMENT_KINDS).exclude(['online']), z.enum(PAYMENT_KINDS), {
      hint: 'Crediário, crédito de troca, promoção e cashback só o ponto de venda usa.',
      description: 'Espécie da forma de pagamento.',
    }),
    names: PAYMENT_KIND_NAMES,
  },
  fee_percentage: {
    ...requiredField(
      'percentage',
      'Acréscimo embutido',
      orDefault(Rate, PAYMENT_TYPE_DEFAULTS.fee_percentage),
      Amount,
      {
        hint: 'O que a loja cobra a mais nesta forma e que já vem dentro do valor pago.',
        description: 'Acréscimo embutido no valor pago, em percentual.',
      },
    ),
    change: Rate.nullish(),
  },
  /** Until the receivable of a credit payment is due. */
  due_days: {
    ...requiredField('number', 'Prazo (dias)', orDefault(DueDays, PAYMENT_TYPE_DEFAULTS.due_days), z.int().min(0), {
      hint: 'Só para o crediário: quando vence a conta a receber.',
      description: 'Prazo, em dias, da conta gerada por uma venda a prazo.',
    }),
    change: DueDays.nullish(),
  },
  acquirer_rate: rateField(
    'Taxa da operadora',
    'O que a operadora retém do valor pago, em percentual; nulo se não se sabe.',
    'O que a operadora da maquininha desconta do valor pago. Deixe em branco se não houver.',
  ),
  acquirer_rate_2_6: rateField(
    'Taxa de 2 a 6 parcelas',
    'A mesma taxa de 2 a 6 parcelas; nulo: `acquirer_rate`.',
    'Se vazio, vale a taxa da operadora.',
  ),
  acquirer_rate_7_12: rateField(
    'Taxa de 7 parcelas em diante',
    'A mesma taxa de 7 parcelas em diante; nulo: `acquirer_rate`.',
    'Se vazio, vale a taxa da operadora.',
  ),
  acquirer_fee_refunded: optionalField('yes_or_no', 'A operadora devolve a taxa', z.boolean().nullish(), {
    answer: z.boolean(),
    description: 'Se a operadora devolve sua taxa junto com o que volta ao cartão.',
  }),
  settles_in_days: optionalField(
    'number',
    'A operadora paga em (dias)',
    z.int().min(0).max(MAX_SETTLEMENT_DAYS).nullish(),
    {
      answer: z.int().min(0).nullable(),
      hint: 'Dias corridos até o dinheiro cair na conta da loja, e de uma parcela à outra. Deixe em branco se não houver.',
      description:
        'Em quantos dias corridos depois da venda a operadora paga, e cada parcela depois da anterior; nulo se não se sabe.',
    },
  ),
} satisfies DefinitionOf<RecordedFields<'PaymentTypeCreated'>>

/** What the service adds. */
export const PAYMENT_TYPE_STATE = {
  is_cash: serviceField('yes_or_no', 'É dinheiro', z.boolean(), {
    description: 'Se é dinheiro e, portanto, dá troco.',
  }),
  accepts_api: serviceField('yes_or_no', 'Aceita na API', z.boolean(), {
    description: 'Se vale em vendas registradas pela API.',
  }),
  reason: serviceField('text', 'Motivo', z.string().optional()),
}

const ALIAS = 'deve ter de 2 a 60 letras minúsculas sem acento, algarismos e hifens entre eles, como "minha-loja"'

/** URL name of the store: lower-case words joined by hyphens. */
export const Alias = limitedText(60, ALIAS)
  .min(2, ALIAS)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, ALIAS)

/** Beside its secrets, which are in no record. */
export const STORE_FIELDS = {
  alias: requiredField('text', 'Apelido', Alias, z.string(), {
    hint: 'Aparece nos links e não muda mais. Ex.: minha-loja',
    description: 'O nome da loja nos endereços.',
  }),
  /** The service's share of the store's payments. */
  commission_percentage: requiredField('percentage', 'Comissão', Percentage, Amount),
  sandbox: optionalField('yes_or_no', 'Loja de teste', z.boolean().default(false), {
    answer: z.boolean(),
    description: 'Se a loja só recebe pagamentos de teste.',
  }),
  /** Whether the service registers a sale when an order is paid; default: yes. */
  registers_sales: optionalField(
    'yes_or_no',
    'Pedido pago vira venda',
    z.boolean(expects('deve ser sim (yes) ou não (no)')).optional(),
    {
      answer: z.boolean(),
      hint: 'Desmarque só se outro sistema registra as vendas da loja.',
      description: 'Se um pedido pago vira venda e baixa o estoque.',
    },
  ),
} satisfies DefinitionOf<Omit<RecordedFields<'StoreCreated'>, 'secrets'>>

/** What the service adds. */
export const STORE_STATE = {
  enabled: serviceField('yes_or_no', 'Ligado', z.boolean()),
  has_access_token: serviceField('yes_or_no', 'Token guardado', z.boolean(), {
    description: 'Se a loja tem o token do provedor.',
  }),
  has_notification_secret: serviceField('yes_or_no', 'Segredo guardado', z.boolean(), {
    description: 'Se a loja tem o segredo das notificações.',
  }),
  created_at: serviceField('moment', 'Cadastro', Timestamp),
  updated_at: serviceField('moment', 'Última alteração', Timestamp),
}

const LOGO_URL = 'deve ser uma URL http ou https'
const TIME_ZONE = 'deve ser um fuso horário, como "America/Sao_Paulo"'

const TimeZone = limitedText(60, TIME_ZONE).refine(isTimeZone, TIME_ZONE)

const Plan = z.enum(PLANS)

const PLAN_NAMES: Readonly<Record<(typeof PLANS)[number], string>> = {
  basic: 'Básico',
  api: 'Com adicional de API',
}

const TAX_REGIME_NAMES: Readonly<Record<(typeof TAX_REGIMES)[number], string>> = {
  simples_nacional: 'Simples Nacional',
  simples_nacional_excess: 'Simples Nacional, com excesso de sublimite',
  normal: 'Regime normal',
  mei: 'MEI',
}

/** Of a company without a setting, and at most: ten years. */
export const VOUCHER_DAYS = 90
const VoucherDays = z.int().min(1).max(3650).nullish()

export const BUSINESS_TYPE_NAMES: Readonly<Record<BusinessType, string>> = {
  grocery: 'Mercearia ou mercado',
  clothing: 'Roupas e calçados',
  cafe: 'Café, lanchonete ou padaria',
  restaurant: 'Restaurante',
  pharmacy: 'Farmácia',
  building_supplies: 'Material de construção',
  pet_shop: 'Pet shop',
  beauty: 'Beleza e cosméticos',
  stationery: 'Papelaria e presentes',
  other: 'Outro',
}

/** Fields of a company that the operator sets. */
export const COMPANY_FIELDS = {
  name: requiredField('text', 'Nome', boundedText(120), z.string()),
  cnpj: requiredField('text', 'CNPJ', Cnpj, z.string(), { description: 'CNPJ formatado.' }),
  plan: {
    ...requiredField('choice', 'Plano', Plan.default('basic'), Plan, { description: 'Plano da conta.' }),
    change: Plan.optional(),
    names: PLAN_NAMES,
  },
  timezone: {
    ...requiredField('text', 'Fuso horário', TimeZone.default('America/Sao_Paulo'), z.string(), {
      hint: 'Decide quando começam os dias da empresa e que horas são mostradas.',
      description: 'O fuso horário da empresa, que decide quando começam os dias dela.',
    }),
    change: TimeZone.optional(),
  },
  logo_url: optionalField(
    'text',
    'Endereço do logotipo',
    boundedText(500)
      .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), LOGO_URL)
      .nullish(),
    {
      description:
        'Endereço do logotipo; relativo ao do serviço se a imagem foi enviada pelo painel, `null` sem logotipo.',
    },
  ),
  state_registration: { ...STATE_REGISTRATION, hint: 'Só os números contam; ISENTO, se isenta.' },
  tax_regime: choiceField('Regime tributário', TAX_REGIME_NAMES, {
    description:
      'Regime tributário (CRT): `simples_nacional` (1), `simples_nacional_excess` (2, com excesso de sublimite), `normal` (3), `mei` (4); `null` se não informado.',
  }),
  business_type: choiceField('Tipo de negócio', BUSINESS_TYPE_NAMES, {
    description: 'O que a loja vende; `null` se não informado.',
  }),
  /** As receipts show it, in one line. */
  address: optionalField('text', 'Endereço da loja', boundedText(200).nullish(), {
    hint: 'Sai no recibo, como "Rua do Sol, 10, Centro, Recife/PE".',
  }),
  phone: optionalField('phone', 'Telefone', Phone.nullish(), { hint: 'Sai no recibo.' }),
  pix_key: optionalField('text', 'Chave Pix', PixKey.nullish(), {
    hint: 'CPF, CNPJ, telefone com DDD, e-mail ou chave aleatória: o caixa mostra o código para o cliente pagar.',
    description: 'Chave Pix da empresa; `null` sem chave.',
  }),
  pix_city: optionalField('text', 'Cidade do Pix', boundedText(60).nullish(), {
    hint: 'Aparece no aplicativo do banco do cliente.',
    description: 'Cidade para o código do Pix; `null` se não informada.',
  }),
  voucher_days: optionalField('number', 'Validade do vale-troca (dias)', VoucherDays, {
    answer: z.int().min(1).nullable(),
    hint: 'Sai no vale; depois dela, o caixa avisa. Se vazio, 90 dias.',
    description: 'Por quantos dias vale um vale-troca; `null`: 90.',
  }),
  /** Of the shop's pages; text on it is black or white, whichever has more contrast. */
  brand_color: optionalField('text', 'Cor da loja', BrandColor.nullish(), {
    hint: 'Em hexadecimal, como #0B5FA5. Deixe em branco para usar a cor do Tillbook.',
    description: 'Cor da loja em hexadecimal, como `#0b5fa5`; `null` sem cor própria.',
  }),
} satisfies DefinitionOf<Omit<RecordedFields<'CompanyRegistered'>, 'test'>>

/** What is suggested to a shop of a type: names as its people write them. */
export interface BusinessSuggestion {
  readonly categories: readonly string[]
  readonly units: readonly string[]
  /** Ways of paying beside cash, Pix and cards. */
  readonly ways: readonly ('Crediário' | 'Vale-alimentação' | 'Vale-refeição')[]
}

const suggest = (categories: string, units: string, ...ways: BusinessSuggestion['ways']): BusinessSuggestion => ({
  categories: categories.split(', '),
  units: units.split(' '),
  ways,
})

export const BUSINESS_SUGGESTIONS: Readonly<Record<BusinessType, BusinessSuggestion>> = {
  grocery: suggest(
    'Mercearia, Bebidas, Hortifrúti, Frios e laticínios, Carnes, Padaria, Limpeza, Higiene',
    'UN KG G L PCT CX DZ FD',
    'Crediário',
    'Vale-alimentação',
  ),
  clothing: suggest('Feminino, Masculino, Infantil, Calçados, Acessórios, Moda íntima', 'UN PAR KIT', 'Crediário'),
  cafe: suggest('Cafés, Bebidas, Salgados, Doces, Pães, Lanches', 'UN KG FT PCT', 'Vale-refeição'),
  restaurant: suggest('Pratos, Porções, Bebidas, Sobremesas, Marmitas', 'UN KG PC L', 'Vale-refeição'),
  pharmacy: suggest('Medicamentos, Genéricos, Higiene, Beleza, Bebês, Suplementos', 'UN CX FR PCT', 'Crediário'),
  building_supplies: suggest(
    'Cimento e argamassa, Hidráulica, Elétrica, Tintas, Ferragens, Ferramentas, Madeiras',
    'UN M M2 M3 KG SC L CX PC BR',
    'Crediário',
  ),
  pet_shop: suggest('Rações, Petiscos, Higiene, Medicamentos, Acessórios, Banho e tosa', 'UN KG SC CX', 'Crediário'),
  beauty: suggest('Cabelos, Maquiagem, Perfumes, Pele, Unhas, Serviços', 'UN ML KIT CX', 'Crediário'),
  stationery: suggest('Papelaria, Escolar, Escritório, Presentes, Impressões', 'UN PCT CX FL M', 'Crediário'),
  other: suggest('Produtos, Serviços', 'UN KG CX PCT M L', 'Crediário'),
}

/** Of acquirers in 2026, for shops of their size: each shop corrects them by its contract. */
export const USUAL_RATES = {
  debit_rate: '1.99',
  credit_rate: '3.99',
  credit_rate_2_6: '4.99',
  credit_rate_7_12: '5.99',
  voucher_rate: '5.50',
} as const
