/** The 26 states of Brazil and the federal district: names, and first five digits of their CEPs, as ranges. */
const BY_STATE = {
  AC: ['Acre', [69900, 69999]],
  AL: ['Alagoas', [57000, 57999]],
  AP: ['Amapá', [68900, 68999]],
  AM: ['Amazonas', [69000, 69299], [69400, 69899]],
  BA: ['Bahia', [40000, 48999]],
  CE: ['Ceará', [60000, 63999]],
  DF: ['Distrito Federal', [70000, 72799], [73000, 73699]],
  ES: ['Espírito Santo', [29000, 29999]],
  GO: ['Goiás', [72800, 72999], [73700, 76799]],
  MA: ['Maranhão', [65000, 65999]],
  MT: ['Mato Grosso', [78000, 78899]],
  MS: ['Mato Grosso do Sul', [79000, 79999]],
  MG: ['Minas Gerais', [30000, 39999]],
  PA: ['Pará', [66000, 68899]],
  PB: ['Paraíba', [58000, 58999]],
  PR: ['Paraná', [80000, 87999]],
  PE: ['Pernambuco', [50000, 56999]],
  PI: ['Piauí', [64000, 64999]],
  RJ: ['Rio de Janeiro', [20000, 28999]],
  RN: ['Rio Grande do Norte', [59000, 59999]],
  RS: ['Rio Grande do Sul', [90000, 99999]],
  RO: ['Rondônia', [76800, 76999], [78900, 78999]],
  RR: ['Roraima', [69300, 69399]],
  SC: ['Santa Catarina', [88000, 89999]],
  SP: ['São Paulo', [1000, 19999]],
  SE: ['Sergipe', [49000, 49999]],
  TO: ['Tocantins', [77000, 77999]],
} as const satisfies Record<string, readonly [name: string, ...zips: (readonly [from: number, to: number])[]]>

type State = keyof typeof BY_STATE

export const STATES = Object.keys(BY_STATE) as State[]

export const stateName = (state: State): string => BY_STATE[state][0]

/** State of a CEP of eight digits; null if no state has it. */
export function stateOfZip(zip: string): State | null {
  const begin = Number(zip.slice(0, 5))
  const has = (state: State) => {
    const [, ...ranges] = BY_STATE[state]
    return ranges.some(([from, to]) => begin >= from && begin <= to)
  }
  return STATES.find(has) ?? null
}
