import { choiceInput, type Kind, type Option } from './input-kinds.ts'

/** Cities by time zone, as people know them: all capitals of Brazil are among them. */
const CITIES: Readonly<Record<string, string>> = {
  'America/Sao_Paulo':
    'Brasília, São Paulo, Rio de Janeiro, Belo Horizonte, Curitiba, Porto Alegre, Florianópolis, Goiânia, Vitória',
  'America/Bahia': 'Salvador',
  'America/Maceio': 'Maceió, Aracaju',
  'America/Recife': 'Recife',
  'America/Fortaleza': 'Fortaleza, Natal, João Pessoa, Teresina, São Luís',
  'America/Belem': 'Belém, Macapá',
  'America/Araguaina': 'Palmas',
  'America/Santarem': 'Santarém',
  'America/Campo_Grande': 'Campo Grande',
  'America/Cuiaba': 'Cuiabá',
  'America/Manaus': 'Manaus',
  'America/Boa_Vista': 'Boa Vista',
  'America/Porto_Velho': 'Porto Velho',
  'America/Rio_Branco': 'Rio Branco, Cruzeiro do Sul',
  'America/Eirunepe': 'Eirunepé, Tabatinga',
  'America/Noronha': 'Fernando de Noronha',
}

/** `America/Argentina/Buenos_Aires` becomes `Buenos Aires`. */
export const cityName = (zone: string): string =>
  CITIES[zone] ?? (zone.split('/').at(-1) as string).replaceAll('_', ' ')

/** Chooses a time zone by its cities; the present one may be of another country. */
export function zoneInput(present = 'America/Sao_Paulo'): Kind {
  const zones = [...new Set([...Object.keys(CITIES), present])]
  return choiceInput(zones.map((value): Option => ({ value, label: cityName(value) })))
}
