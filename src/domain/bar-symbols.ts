import { isGtin } from './fiscal-values.ts'

/** Modules of digits left of the middle; on the right they are inverted. */
const LEFT = '0001101 0011001 0010011 0111101 0100011 0110001 0101111 0111011 0110111 0001011'.split(' ')

/** Which of the six left digits are mirrored (G), by the first digit of an EAN of 13 digits. */
const MIRRORED = '000000 001011 001101 001110 010011 011001 011100 010101 010110 011010'.split(' ')

const inverted = (modules: string): string => modules.replace(/[01]/g, (module) => (module === '0' ? '1' : '0'))
const right = (digit: string): string => inverted(LEFT[Number(digit)] as string)
const mirrored = (digit: string): string => [...right(digit)].reverse().join('')

function ean(digits: string): string {
  const [first, body] = digits.length === 13 ? [digits[0], digits.slice(1)] : ['0', digits]
  const half = body.length / 2
  const mirror = MIRRORED[Number(first)] as string
  const left = [...body.slice(0, half)].map((digit, at) =>
    mirror[at] === '1' ? mirrored(digit) : (LEFT[Number(digit)] as string),
  )
  return `101${left.join('')}01010${[...body.slice(half)].map(right).join('')}101`
}

/** Widths of bars and spaces of Code 128, by value. */
const WIDTHS = [
  '212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232 122132 122231 113222',
  '123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212 322112 322211 212123 212321',
  '232121 111323 131123 131321 112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121',
  '313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 314111 221411 431111 111224',
  '111422 121124 121421 141122 141221 112214 112412 122114 122411 142112 142211 241211 221114 413111 241112 134111',
  '111242 121142 121241 114212 124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113',
  '114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 2331112',
].flatMap((line) => line.split(' '))

const [START_B, START_C, STOP, MODULUS] = [104, 105, 106, 103]

/** Pairs of digits in code set C, other texts in B. */
function code128(text: string): string {
  const isPaired = /^(?:\d\d)+$/.test(text)
  const values = isPaired
    ? Array.from({ length: text.length / 2 }, (_, at) => Number(text.slice(2 * at, 2 * at + 2)))
    : [...text].map((character) => character.charCodeAt(0) - 32)
  const start = isPaired ? START_C : START_B
  const check = values.reduce((sum, value, at) => sum + value * (at + 1), start) % MODULUS
  return [start, ...values, check, STOP]
    .flatMap((value) =>
      [...(WIDTHS[value] as string)].map((width, at) => (at % 2 === 0 ? '1' : '0').repeat(Number(width))),
    )
    .join('')
}

/** More would not fit a label. */
const MAX_LENGTH = 30

/**
 * Dark (1) and light (0) modules of a barcode: EAN for a GTIN of up to 13 digits, else Code 128; null for a
 * text that scanners do not read.
 */
export function encodeBarcode(code: string): string | null {
  if (code.length > MAX_LENGTH || !/^[ -~]+$/.test(code)) return null
  if (isGtin(code) && code.length < 14) return ean(code.length === 12 ? `0${code}` : code)
  return code128(code)
}
