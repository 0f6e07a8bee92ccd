import { expect } from 'chai'
import { invitationEmail, toShopBrand } from '#notifications/email.ts'

const PUBLIC_URL = 'https://tillbook.example'

describe('e-mails about a shop', () => {
  it('show its logo, and its name on its colour, with the same text as without', () => {
    const shop = toShopBrand({ name: 'Café <b>&', logoUrl: '/pictures/1/logo/ab.webp', color: '#ffe000' }, PUBLIC_URL)
    const { text, html = '' } = invitationEmail(shop, `${PUBLIC_URL}/painel/convite?codigo=x&y`, 7)
    expect(text).to.include('Café <b>& convidou')
    expect(html).to.include(`src="${PUBLIC_URL}/pictures/1/logo/ab.webp"`)
    expect(html).to.include('color:#000000;background:#ffe000')
    expect(html).to.include('Café &lt;b&gt;&amp; convidou').and.not.include('<b>')
    expect(html).to.include(`<a href="${PUBLIC_URL}/painel/convite?codigo=x&amp;y">`)
  })

  it('are plain text for a shop without logo and colour, and load no logo of another site', () => {
    const shop = toShopBrand({ name: 'Café', logoUrl: 'https://loja.example/logo.png', color: null }, PUBLIC_URL)
    expect(invitationEmail(shop, PUBLIC_URL, 7).html).to.equal(undefined)
  })
})
