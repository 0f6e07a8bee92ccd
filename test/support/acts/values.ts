import fc from 'fast-check'
import { place } from './act.ts'

/** Few values, so that they collide: in another case, with other blanks, and sometimes any text. */
export const name = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: 40 }).map((n) => `Nome ${n}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('Ana', 'ana', ' ANA ', 'São João', 'SA\u0303O  JOA\u0303O', 'Pão 🥖', '"\\\n'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
)
export const externalId = fc.constantFrom('a', 'b', 'c', 'A', 'é/🥖')
export const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
export const money = fc.constantFrom('0.00', '0.01', '1.15', '18.90', '1000.00')
export const quantity = fc.constantFrom('1', '0.5', '2.345', '0.001', '40')

/** Input of an update of one record. */
export const changing = (changes: fc.Arbitrary<unknown>) => fc.record({ id: place, changes })
