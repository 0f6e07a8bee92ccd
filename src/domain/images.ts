import { limitedText } from './text.ts'

/** Colour of a shop: `#rrggbb` in lower case. */
export const BrandColor = limitedText(40)
  .trim()
  .regex(/^#[0-9a-f]{6}$/i, 'deve ser uma cor como "#0B5FA5"')
  .toLowerCase()

/** An uploaded logo; null without one, or if it is on another site, from which pages load nothing. */
export const uploadedLogo = (logoUrl: string | null): string | null => (logoUrl?.startsWith('/') ? logoUrl : null)

type Rgb = readonly [red: number, green: number, blue: number]

const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]

/** Least contrast of text (WCAG 2.1 AA), with room for rounding. */
const LEAST_CONTRAST = 4.6

/** Surfaces on which the accent is text, in src/http/static/base.css: the least favourable one of each mode. */
const LIGHT_SURFACE: Rgb = [238, 242, 246]
const DARK_SURFACE: Rgb = [34, 44, 55]
/** Share of the colour in the paper behind accented text. */
const PAPER_SHARE = { light: 0.1, dark: 0.18 }

const toRgb = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb
const toHex = (rgb: Rgb): string => `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`

const mix = (color: Rgb, other: Rgb, share: number): Rgb =>
  color.map((part, at) => Math.round(part * share + (other[at] ?? 0) * (1 - share))) as unknown as Rgb

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((part) => {
    const value = part / 255
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

/** Contrast of two colours (WCAG 2.1), 1 to 21. */
export const contrastColors = (one: string, other: string): number => contrast(toRgb(one), toRgb(other))

/** The first of 21 steps from the colour to black or white that is legible on all of `papers`. */
function legible(color: Rgb, towards: Rgb, papers: readonly Rgb[]): Rgb {
  for (let step = 20; step > 0; step--) {
    const tried = mix(color, towards, step / 20)
    if (papers.every((paper) => contrast(tried, paper) >= LEAST_CONTRAST)) return tried
  }
  return towards
}

/** Accent of src/http/static/base.css. */
const OWN_ACCENT = toRgb('#0b5fa5')
/** Hue of errors there, in degrees, and how far from it a colour is taken for one. */
const ALARM_HUE = 355
const ALARM_REACH = 24
/** Below it a colour is a grey. */
const LEAST_SATURATION = 0.2

/** Whether a colour, or a shade of it, would be taken for that of errors. */
export function isAlarming(hex: string): boolean {
  const [red, green, blue] = toRgb(hex)
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)]
  const range = most - least
  if (range <= LEAST_SATURATION * (255 - Math.abs(most + least - 255))) return false
  const sector =
    most === red ? (green - blue) / range : most === green ? 2 + (blue - red) / range : 4 + (red - green) / range
  const distance = Math.abs(((sector * 60 - ALARM_HUE + 900) % 360) - 180)
  return distance <= ALARM_REACH
}

/** Colours of pages, made from a shop's: text on each has enough contrast, whatever the colour. */
export interface BrandPalette {
  readonly brand: string
  /** Black or white, on the colour itself. */
  readonly onBrand: string
  /** Text and buttons on the pages' surfaces; of a red shop those of the pages, since red tells an error there. */
  readonly accent: { readonly light: string; readonly dark: string }
  readonly accentPaper: { readonly light: string; readonly dark: string }
}

export function brandPalette(color: string): BrandPalette {
  const brand = toRgb(color)
  const accent = isAlarming(color) ? OWN_ACCENT : brand
  const lightPaper = mix(accent, WHITE, PAPER_SHARE.light)
  const darkPaper = mix(accent, DARK_SURFACE, PAPER_SHARE.dark)
  return {
    brand: color,
    onBrand: contrast(brand, WHITE) >= contrast(brand, BLACK) ? '#ffffff' : '#000000',
    accent: {
      light: toHex(legible(accent, BLACK, [LIGHT_SURFACE, lightPaper])),
      dark: toHex(legible(accent, WHITE, [DARK_SURFACE, darkPaper])),
    },
    accentPaper: { light: toHex(lightPaper), dark: toHex(darkPaper) },
  }
}

/** Largest picture, in bytes. */
export const MAX_PICTURE_BYTES = 204_800

const NO_WEBP = 'deve ser uma imagem WebP'

/** Starts of other pictures, as bytes from an offset. */
const OTHERS = [
  { name: 'JPG', at: 0, start: '\xff\xd8\xff' },
  { name: 'PNG', at: 0, start: '\x89PNG' },
  { name: 'HEIC', at: 4, start: 'ftyp' },
]

/** A browser with scripts would have converted it. */
function notWebp(bytes: Buffer): string {
  const other = OTHERS.find(({ at, start }) => bytes.toString('latin1', at, at + start.length) === start)
  return other ? `${NO_WEBP}: o arquivo é ${other.name}, e não foi convertido` : NO_WEBP
}

export const PICTURE_TOO_LARGE = `deve ter no máximo ${MAX_PICTURE_BYTES / 1024} KB`

/** First chunk of a WebP: lossy, lossless, or extended (transparency, animation). */
const CHUNKS = ['VP8 ', 'VP8L', 'VP8X']

/** Whether bytes are a WebP file (RFC 9649): its RIFF header names the type and the length. */
function isWebp(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return false
  const [length, chunk] = [bytes.readUInt32LE(4) + 8, bytes.readUInt32LE(16) + 20]
  return length <= bytes.length && chunk <= bytes.length && CHUNKS.includes(bytes.toString('latin1', 12, 16))
}

/** Why bytes cannot be stored as a picture; null if they can. */
export function pictureProblem(bytes: Buffer): string | null {
  if (bytes.length > MAX_PICTURE_BYTES) return PICTURE_TOO_LARGE
  return isWebp(bytes) ? null : notWebp(bytes)
}
