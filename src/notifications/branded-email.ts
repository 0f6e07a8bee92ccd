import { brandPalette, uploadedLogo } from '#domain/brand-color.ts'
import { escapeHtml } from '#lib/html.ts'

/** What an e-mail shows of the shop that it is about. */
export interface ShopBrand {
  readonly name: string
  /** Whole URL of the uploaded logo; null without one. */
  readonly logoUrl: string | null
  /** `#rrggbb`; null without one. */
  readonly color: string | null
}

/** `logoUrl` is as the company's record has it. */
export function toShopBrand({ name, logoUrl, color }: ShopBrand, publicUrl: string): ShopBrand {
  const uploaded = uploadedLogo(logoUrl)
  return { name, color, logoUrl: uploaded && `${publicUrl}${uploaded}` }
}

const paragraphOf = (text: string): string => {
  const content = escapeHtml(text)
  return /^https?:\/\/\S+$/.test(text)
    ? `<p style="overflow-wrap:anywhere"><a href="${content}">${content}</a></p>`
    : `<p>${content.replaceAll('\n', '<br>')}</p>`
}

/**
 * HTML of an e-mail's text under the shop's logo, name and colour; undefined if the shop has neither logo nor colour.
 * Programs for e-mail take styles only from attributes.
 */
export function brandedHtml(text: string, { name, logoUrl, color }: ShopBrand): string | undefined {
  if (logoUrl === null && color === null) return undefined
  const { brand, onBrand } = color === null ? { brand: '#ffffff', onBrand: '#17212d' } : brandPalette(color)
  const logo =
    logoUrl === null
      ? ''
      : `<img src="${escapeHtml(logoUrl)}" alt="" height="40" style="height:40px;max-width:160px;padding:4px;background:#ffffff;border-radius:4px;vertical-align:middle;margin-right:12px">`
  const paragraphs = text
    .trim()
    .split(/\n{2,}/)
    .map(paragraphOf)
  return `<!doctype html><html lang="pt-BR"><body style="margin:0;font-family:sans-serif;color:#17212d;background:#ffffff"><div style="max-width:36rem;margin:0 auto"><div style="padding:12px 16px;font-size:18px;font-weight:bold;color:${onBrand};background:${brand}">${logo}${escapeHtml(name)}</div><div style="padding:16px;line-height:1.5">${paragraphs.join('')}</div></div></body></html>`
}
