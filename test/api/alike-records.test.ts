import { expect } from 'chai'
import { plainText } from '../support/import-file.ts'
import { usePanelUser } from '../support/panel.ts'

describe('records that seem to repeat others', () => {
  const { company, user } = usePanelUser('owner')
  const UPC = { name: 'Importado', price: '1.00', barcode: '036000291452' }
  const EAN = { name: 'Café', price: '1.00', barcode: '0036000291452' }

  it('are warned of by POST, PUT, PATCH and batch: a barcode with other zeros [ITEM-12]', async () => {
    const { id } = (await company.post('/catalog/items', UPC)).body.data
    const warned = async (answer: { body: { data: { id: number }; meta: { warnings: object[] } } }) => {
      const { data, meta } = answer.body
      expect(meta.warnings).to.deep.equal([
        {
          code: 'barcode_in_use',
          field: 'barcode',
          message: `o item ${id} (Importado) tem o mesmo código de barras`,
          conflicting_id: id,
        },
      ])
      return data.id
    }
    const other = await warned(await company.post('/catalog/items', EAN))
    await company.call('PATCH', `/catalog/items/${other}`, { barcode: null })
    await warned(await company.call('PATCH', `/catalog/items/${other}`, { barcode: EAN.barcode }))
    await warned(await company.call('PUT', '/catalog/items/by-external/X', { ...EAN, barcode: '00036000291452' }))
    const { meta } = (
      await company.post('/catalog/items/batch', {
        items: [
          { ...EAN, external_id: 'Y', barcode: '789' },
          { ...EAN, external_id: 'Z', barcode: '36000291452' },
        ],
      })
    ).body
    expect(meta.warnings.filter(({ code }: { code: string }) => code === 'barcode_in_use')).to.deep.equal([
      {
        index: 1,
        code: 'barcode_in_use',
        field: 'barcode',
        message: `o item ${id} (Importado) tem o mesmo código de barras`,
        conflicting_id: id,
      },
    ])
    const strict = await company.post('/catalog/items?strict=true', { ...EAN, barcode: '00036000291452' })
    expect(strict.status).to.equal(409)
    expect((await company.call('PATCH', `/catalog/items/${id}`, { name: 'Outro' })).body).not.to.have.property('meta')
  })

  it('are warned of by POST, PUT, PATCH and batch: a name with another apostrophe [PERSON-820]', async () => {
    for (const path of ['/customers', '/suppliers', '/catalog/categories']) {
      const { id } = (await company.post(path, { name: "Ana D'Ávila" })).body.data
      const warning = {
        code: 'name_in_use',
        field: 'name',
        message: `o cadastro ${id} tem o mesmo nome, com outro apóstrofo`,
        conflicting_id: id,
      }
      const made = (await company.post(path, { name: 'ana D’ávila' })).body
      expect(made.meta.warnings).to.deep.equal([warning])
      const put = await company.call('PUT', `${path}/by-external/X`, { name: 'Ana D´Ávila' })
      expect(put.body.meta.warnings[0]).to.deep.equal(warning)
      const batch = await company.post(`${path}/batch`, {
        items: [
          { external_id: 'Y', name: 'Rui' },
          { external_id: 'Z', name: 'Ana D`Ávila' },
        ],
      })
      expect(batch.body.meta.warnings).to.deep.equal([{ index: 1, ...warning }])
      const renamed = await company.call('PATCH', `${path}/${batch.body.data[0].id}`, { name: 'Ana D‘Ávila' })
      expect(renamed.body.meta.warnings).to.deep.equal([warning])
      expect((await company.call('PATCH', `${path}/${made.data.id}`, { notes: 'x' })).body).not.to.have.property('meta')
      expect((await company.post(path, { name: "Joana d'Arc" })).body).not.to.have.property('meta')
    }
  })

  it('are warned of by POST and PATCH: a payment type with another apostrophe [TYPE-3]', async () => {
    const path = '/sales/payment-types'
    const { id } = (await company.post(path, { name: "Vale d'água", kind: 'other' })).body.data
    const made = (await company.post(path, { name: 'vale d’Água', kind: 'other' })).body
    const message = `o cadastro ${id} tem o mesmo nome, com outro apóstrofo`
    const warning = { code: 'name_in_use', field: 'name', message, conflicting_id: id }
    expect(made.meta.warnings).to.deep.equal([warning])
    const patched = (await company.call('PATCH', `${path}/${made.data.id}`, { name: 'Vale d´água' })).body
    expect(patched.meta.warnings).to.deep.equal([warning])
    expect((await company.call('PATCH', `${path}/${made.data.id}`, { due_days: 3 })).body).not.to.have.property('meta')
    const home = '/painel/configuracoes/formas-de-pagamento'
    const fields = { name: 'Vale d‘água', kind: 'other', fee_percentage: '0,00', due_days: '30' }
    const { to } = await user.submit(`${home}/nova`, fields)
    expect(to).to.match(new RegExp(`^${home}/\\d+\\?.*parecido=${id}`))
    expect((await user.get(to as string)).html).to.include(`Parece repetir o cadastro <a href="${home}/${id}">Vale d`)
    const other = await user.submit(`${home}/nova`, { ...fields, name: 'Vale' })
    expect(other.to)
      .to.match(/^\/painel\/configuracoes/)
      .and.not.to.include('parecido')
  })

  it('are linked from the page of the saved record', async () => {
    const item = (await company.post('/catalog/items', UPC)).body.data
    await user.submit(
      '/painel/catalogo/novo',
      { name: 'Café', type: 'product', price: '1,00', barcode: EAN.barcode },
      '/painel/catalogo',
    )
    const [, saved] = (await company.get('/catalog/items')).body.data
    const page = await user.get(`/painel/catalogo/${saved.id}?parecido=${item.id}`)
    expect(page.html).to.include(`Parece repetir o cadastro <a href="/painel/catalogo/${item.id}">Importado</a>`)
    const customer = (await company.post('/customers', { name: "Ana D'Ávila" })).body.data
    const { headers } = await user.submit('/painel/clientes/novo', { name: 'Ana D’Ávila' }, '/painel/clientes')
    expect(headers.get('location')).to.match(new RegExp(`/painel/clientes/\\d+\\?.*parecido=${customer.id}`))
    expect(plainText((await user.get(`/painel/clientes/${customer.id}?parecido=999999`)).html)).not.to.include(
      'Parece repetir',
    )
  })

  it('are no barcodes where a text stands for none, and have no invisible characters [ITEM-820]', async () => {
    for (const none of ['SEM GTIN', 'sem gtin', 'Sem EAN', '-', '--', 'N/A', 'null', '0', '0000000000000', '\u2014']) {
      const made = await company.post('/catalog/items', { name: 'Café', price: '1.00', barcode: none, gtin: none })
      expect(made.status, none).to.equal(201)
      expect(made.body.data).to.include({ barcode: null, gtin: null })
    }
    const made = await company.post('/catalog/items', {
      ...UPC,
      barcode: '\u202a036000291452\u202c',
      gtin: '\u200b036000291452',
    })
    expect(made.body.data).to.include({ barcode: '036000291452', gtin: '036000291452' })
    for (const same of ['036000291452\u200b', '0 36000 29145 2', '036000\u2011291452'])
      expect((await company.post('/catalog/items', { ...UPC, barcode: same })).status, same).to.equal(409)
    const own = await company.post('/catalog/items', { ...UPC, barcode: 'A-1 2' })
    expect(own.body.data.barcode).to.equal('A-1 2')
    expect((await company.post('/catalog/items', { ...UPC, barcode: 'x'.repeat(61) })).status).to.equal(422)
    expect((await company.post('/catalog/items', { ...UPC, barcode: '\u200b' })).status).to.equal(422)
  })

  it('have no code where a text stands for none [VAL-910]', async () => {
    const codes = { document: null, phone: null, email: null, state_registration: null }
    for (const none of ['-', '--', 'n/a', 'SEM GTIN', 'null', '0', '00', '000.000.000-00', ' ', '\u2014']) {
      const person = { name: `Ana ${none}`, document: none, phone: none, email: none, state_registration: none }
      const made = await company.post('/customers', { ...person, address: { zip: none, city: 'Bauru' } })
      expect(made.status, `${none} ${made.text}`).to.equal(201)
      expect(made.body.data).to.include(codes)
      expect(made.body.data.address).to.include({ zip: null, city: 'Bauru' })
      const item = await company.post('/catalog/items', {
        name: 'Café',
        price: '1.00',
        sku: none,
        ncm: none,
        cest: none,
      })
      expect(item.body.data).to.include({ sku: null, ncm: null, cest: null })
    }
    for (const [field, wrong] of Object.entries({
      document: '-1',
      phone: '0-1',
      email: 'a-',
      state_registration: 'N',
    })) {
      const reply = await company.post('/customers', { name: 'Ana', [field]: wrong })
      expect(reply.status, field).to.equal(422)
      expect(Object.keys(reply.body.error.details.fields)).to.deep.equal([field])
    }
    await company.post('/suppliers/batch', { items: [{ external_id: 'f', name: 'Usina', phone: '-' }] })
    expect((await company.get('/suppliers/by-external/f')).body.data.phone).to.equal(null)
  })

  it('have no invisible characters in other codes [VAL-910]', async () => {
    const zip = '\u202a01310\u2011100\u202c'
    const person = { name: 'Rui', state_registration: '\u202a110042490114', email: '\u202arui@a.com\u202c' }
    const made = (await company.post('/customers', { ...person, address: { zip } })).body.data
    expect(made).to.include({ state_registration: '110042490114', email: 'rui@a.com' })
    expect(made.address.zip).to.equal('01310100')
    const item = { name: 'Chá', price: '1.00', sku: '\u200bA\u20111', ncm: '0901\u200b.21.00', cest: '\u202a1709600' }
    expect((await company.post('/catalog/items', item)).body.data).to.include({
      ...{ sku: 'A-1', ncm: '09012100' },
      cest: '1709600',
    })
  })

  it('have no invisible characters in phones and documents', async () => {
    const person = {
      name: 'Ana',
      phone: '\u202a(11)\u00a098765\u20114321\u202c',
      document: '529.982.247\u201025\u200b',
    }
    expect((await company.post('/customers', person)).body.data).to.include({
      phone: '11987654321',
      document: '52998224725',
    })
  })
})
