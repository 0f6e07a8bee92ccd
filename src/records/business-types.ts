import type { BusinessType } from '#events/company-events.ts'

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
