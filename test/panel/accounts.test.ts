import { expect } from 'chai'
import { addDays, addMonths, dateInZone } from '#domain/instant.ts'
import { formatDay } from '#domain/person-values.ts'
import type { Json } from '../support/api.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

const SIDES = [
  {
    path: '/painel/contas-a-receber',
    party: 'customer',
    label: 'Cliente',
    name: 'receivable',
    parties: 'clientes',
    act: 'Receber',
    done: 'Recebida',
  },
  {
    path: '/painel/contas-a-pagar',
    party: 'supplier',
    label: 'Fornecedor',
    name: 'payable',
    parties: 'fornecedores',
    act: 'Pagar',
    done: 'Paga',
  },
] as const

for (const { path: PATH, party, label, name, parties, act, done } of SIDES) {
  describe(`panel: ${name}s`, () => {
    const { company, user } = usePanelUser('manager', {
      timezone: 'America/Sao_Paulo',
    })

    const today = dateInZone(new Date().toISOString(), 'America/Sao_Paulo')
    const api1 = `/finance/${name}s`
    const partyId = async (called: string) =>
      (await company.post(`/${party}s`, { name: called })).body.data.id as number
    const account = async (fields: object = {}): Promise<Json> => {
      const whole = { description: 'Aluguel', amount: '10.00', due_date: addDays(today, 5), ...fields }
      return (await company.post(api1, whole)).body.data
    }
    const inApi = async (id: number) => (await company.get(`${api1}/${id}`)).body.data
    const create = (fields: Record<string, string | string[]>) =>
      user.submit(`${PATH}/novo`, { description: 'Aluguel', amount: '10', due_date: today, ...fields }, PATH)
    const list = async (query = '') => textIn((await user.get(`${PATH}${query}`)).html.split('id="lista"')[1] ?? '')
    const settle = (id: number, fields: Record<string, string>) => user.submit(`${PATH}/${id}/liquidar`, fields)

    describe('of one party', () => {
      const people = `/painel/${parties}`
      const form = async (id: number) =>
        hiddenFields((await user.get(`${people}/${id}/liquidar`)).html, `${people}/${id}/liquidar`)

      it('are totalled by age on its page and in the list of parties with open accounts [PANEL-162]', async () => {
        const [maria, jose] = [await partyId('Maria'), await partyId('José')]
        const of = (id: number, days: number, amount: string) =>
          account({ [`${party}_id`]: id, due_date: addDays(today, -days), amount })
        await of(maria, 0, '0.01')
        await of(maria, 30, '10.00')
        await of(maria, 31, '20.00')
        await of(maria, 90, '40.00')
        await of(maria, 91, '80.05')
        await of(jose, 1, '5.00')
        await account({ amount: '7.00' })
        const settled = await of(jose, 1, '1000.00')
        await settle(settled.id, { payment_method: 'pix', paid_at: '' })
        const gone = await of(jose, 1, '1000.00')
        await company.call('DELETE', `${api1}/${gone.id}`)
        const ages =
          'A vencer R$ 0,01 1–30 dias R$ 10,00 31–60 dias R$ 20,00 61–90 dias R$ 40,00 Mais de 90 dias R$ 80,05'
        const page = textIn((await user.get(`${people}/${maria}`)).html)
        expect(page).to.include('R$ 150,06 5 contas Vencido R$ 150,05').and.to.include(ages)
        const { html } = await user.get(`${PATH}/em-aberto`)
        const all = textIn(html)
        for (const text of [
          'Em aberto R$ 162,06 7 contas Vencido R$ 155,05',
          'R$ 0,01 R$ 10,00 R$ 20,00 R$ 40,00 R$ 80,05 R$ 150,06',
          'R$ 7,00 — — — — R$ 7,00',
          '— R$ 5,00 — — — R$ 5,00',
        ])
          expect(all).to.include(text)
        expect(html.indexOf('>Maria<')).to.be.below(html.indexOf('>José<'))
        expect(textIn((await user.get(`${PATH}/em-aberto?em=1`)).html)).to.include('Nenhuma conta em aberto')
      })

      const receive = async (id: number, fields: object) =>
        user.post(`${people}/${id}/liquidar`, {
          ...(await form(id)),
          payment_method: 'cash',
          paid_at: '',
          ...fields,
        })
      const openOf = async (...accounts: Json[]) =>
        Promise.all(accounts.map(async ({ id }) => (await inApi(id)).open_amount))

      it('take a received sum, the oldest due date first, with a receipt [PANEL-430]', async () => {
        const id = await partyId('Maria')
        const of = (days: number) => account({ [`${party}_id`]: id, due_date: addDays(today, days) })
        const [late, soon, later] = [await of(-5), await of(3), await of(9)]
        const page = (await user.get(`${people}/${id}/liquidar`)).html
        expect(page).not.to.include(' checked')
        expect(textIn(page)).to.match(
          /Conta Vencimento Em aberto Acumulado .*R\$ 10,00 R\$ 20,00 .*R\$ 10,00 R\$ 30,00/,
        )
        expect(problemsIn((await receive(id, {})).html)[1]).to.include('informe o valor ou marque as contas')
        expect(problemsIn((await receive(id, { received: '30,01' })).html)[1]).to.include(
          'é mais que o valor em aberto',
        )
        const done = await receive(id, { received: '12,50', fine: '0,50' })
        expect(done.to).to.match(new RegExp(`^${PATH}/recibos/\\d+\\?feito=pagamento$`))
        expect(await openOf(late, soon, later)).to.deep.equal(['0.00', '8.00', '10.00'])
        const receipt = textIn((await user.get(done.to ?? '')).html)
        for (const text of [
          'Maria',
          'Dinheiro',
          'R$ 10,00',
          'R$ 2,00',
          'R$ 8,00 em aberto',
          'ainda R$ 18,00',
          'Multa R$ 0,50',
          'R$ 12,50',
        ])
          expect(receipt).to.include(text)
        const ticked = await receive(id, { accounts: [`${later.id}:10.00`], received: '4' })
        expect(ticked.status).to.equal(303)
        expect(await openOf(late, soon, later)).to.deep.equal(['0.00', '8.00', '6.00'])
      })

      it('are ticked on the page of their party, with the sum up to each [PANEL-1345]', async () => {
        const id = await partyId('Maria')
        const of = (days: number) => account({ [`${party}_id`]: id, due_date: addDays(today, days) })
        const [late, soon] = [await of(-5), await of(3)]
        const { html } = await user.get(`${people}/${id}`)
        expect(html).to.include(`name="accounts${late.id}"`).and.include(`action="${people}/${id}/liquidar"`)
        expect(textIn(html)).to.match(/Acumulado .*R\$ 10,00 R\$ 10,00 R\$ 10,00 .*R\$ 10,00 R\$ 10,00 R\$ 20,00/)
        expect(textIn(html)).to.include(`a mais antiga: ${formatDay(late.due_date)}`)
        const ticked = (await user.get(`${people}/${id}/liquidar?accounts${soon.id}=${soon.id}:10.00`)).html
        expect(ticked.match(/ checked/g)).to.have.length(1)
        expect(ticked).to.match(
          new RegExp(`<input[^>]*value="${soon.id}:10.00"[^>]* checked|checked[^>]*value="${soon.id}:10.00"`),
        )
      })

      if (name === 'payable') return

      it('are paid together or not at all: one that has changed refuses the form [PANEL-163]', async () => {
        const id = await partyId('Maria')
        const open = { [`${party}_id`]: id }
        const [a, b] = [await account(open), await account({ ...open, amount: '20.00' })]
        const seen = await form(id)
        await company.call('PATCH', `${api1}/${b.id}`, { amount: '25.00' })
        const both = { accounts: [`${a.id}:10.00`, `${b.id}:20.00`] }
        const late = await receive(id, { ...seen, ...both })
        expect(late.status).to.equal(422)
        expect(problemsIn(late.html)[1]).to.include('o valor em aberto mudou desde que a página foi aberta')
        expect(await openOf(a, b)).to.deep.equal(['10.00', '25.00'])
        expect((await receive(id, { ...both, paid_at: '2099-01-01T10:00' })).status).to.equal(422)
        expect((await receive(id, { accounts: [`${a.id}:10.00`, `${b.id}:25.00`] })).status).to.equal(303)
        expect(await openOf(a, b)).to.deep.equal(['0.00', '0.00'])
        expect(textIn((await user.get(`${people}/${id}`)).html)).to.include('R$ 0,00 0 contas')
      })

      it('are settled once for repeated forms [PANEL-163]', async () => {
        const id = await partyId('Maria')
        const { id: one } = await account({ [`${party}_id`]: id })
        const sent = { ...(await form(id)), accounts: [`${one}:10.00`], payment_method: 'cash', paid_at: '' }
        const replies = [
          await user.post(`${people}/${id}/liquidar`, sent),
          await user.post(`${people}/${id}/liquidar`, sent),
        ]
        expect(replies.map(({ status }) => status)).to.deep.equal([303, 303])
        const { data } = (await company.get(`${api1}/${one}/history`)).body
        expect(data).to.have.length(3)
      })
    })

    it('creates an account from Brazilian notation for a party given by name', async () => {
      const id = await partyId('Maria da Silva')
      const fields = {
        amount: '1.234,5',
        due_date: '2027-01-31',
        external_id: 'X',
        [`${party}_id`]: ' maria  DA silva',
      }
      const { status, to } = await create(fields)
      expect(status).to.equal(303)
      const [created] = (await company.get(api1)).body.data
      expect(created).to.deep.include({ description: 'Aluguel', amount: '1234.50', due_date: '2027-01-31' })
      expect(created).to.deep.include({ external_id: 'X', origin: 'pdv', [`${party}_id`]: id })
      const { html } = await user.get(to ?? '')
      for (const text of ['Conta criada.', 'R$ 1.234,50', '31/01/2027', 'Pendente', label, 'Maria da Silva', 'Painel'])
        expect(textIn(html)).to.include(text)
      expect(html).to.include(`href="/painel/${parties}/${id}"`)
    })

    it('settles in full once, with the counter as the channel [PANEL-374]', async () => {
      const { id } = await account({ amount: '1500.00' })
      const at = `${PATH}/${id}/liquidar`
      const { html } = await user.get(at)
      expect(textIn(html)).to.include(`${act} R$ 1.500,00`)
      const form = { ...hiddenFields(html, at), payment_method: 'pix', paid_at: '2026-03-10T23:30' }
      for (let n = 0; n < 2; n++) expect((await user.post(at, form)).to).to.equal(`${PATH}/${id}?feito=liquidada`)
      const settled = await inApi(id)
      expect(settled).to.include({ status: 'settled', payment_method: 'pix', settled_on: '2026-03-10' })
      expect(settled.paid_at).to.equal('2026-03-10T23:30:00.000-03:00')
      const events = (await company.get(`${api1}/${id}/history`)).body.data
      expect(events).to.have.length(3)
      expect(events[1]).to.include({ origin: 'panel', actor: `user/${user.id}` })
      const shown = (await user.get(`${PATH}/${id}?feito=liquidada`)).html
      expect(shown).to.include('<p class="notice" role="status">Conta quitada.')
      for (const text of ['Conta quitada.', done, '10/03/2026 23:30', 'Pix']) expect(textIn(shown)).to.include(text)
      expect(shown).not.to.include('/editar').and.not.to.include('/excluir').and.not.to.include('/liquidar')
    })

    it('takes a part, with interest and a discount, and reverses it with a reason [PANEL-430]', async () => {
      const { id } = await account({ amount: '100.00' })
      expect(
        (await settle(id, { payment_method: 'pix', received: '39,00', interest: '1', discount: '2' })).to,
      ).to.equal(`${PATH}/${id}?feito=paga-em-parte`)
      const part = await inApi(id)
      expect(part).to.include({ status: 'pending', paid_amount: '40.00', open_amount: '60.00' })
      const [payment] = part.payments
      expect(payment).to.include({ amount: '40.00', interest: '1.00', discount: '2.00', received: '39.00' })
      const page = textIn((await user.get(`${PATH}/${id}`)).html)
      for (const text of ['Pago R$ 40,00', 'Em aberto R$ 60,00', 'juros R$ 1,00, desconto R$ 2,00', 'R$ 39,00'])
        expect(page).to.include(text)
      expect(await list())
        .to.include('1 conta, R$ 60,00')
        .and.include(`${done} em parte`)
      const receipt = textIn((await user.get(`${PATH}/recibos/${payment.receipt}`)).html)
      expect(receipt).to.include('Juros R$ 1,00').and.include('R$ 60,00 em aberto').and.not.to.include('Estornado')
      const reversal = `${PATH}/${id}/pagamentos/${payment.id}/estornar`
      expect(problemsIn((await user.submit(reversal, { reason: ' ' })).html)[1]).to.match(/^Motivo: /)
      expect((await user.submit(reversal, { reason: 'Cheque sem fundo' })).to).to.equal(`${PATH}/${id}?feito=estornado`)
      expect(await inApi(id)).to.include({ open_amount: '100.00', paid_amount: '0.00' })
      expect(textIn((await user.get(`${PATH}/${id}`)).html)).to.include('Cheque sem fundo')
      expect(textIn((await user.get(reversal)).html)).to.include('já foi estornado')
      expect(textIn((await user.get(`${PATH}/recibos/${payment.receipt}`)).html)).to.include('não é mais válido')
      expect((await user.get(`${PATH}/recibos/999999`)).status).to.equal(404)
      expect((await user.get(`${PATH}/${id}/pagamentos/999999/estornar`)).status).to.equal(404)
    })

    it('the open amount is the same in list, file, balances and summary [PANEL-420] [PANEL-162]', async () => {
      const id = await partyId('Maria')
      const one = await account({ amount: '100.00', due_date: today, [`${party}_id`]: id })
      await settle(one.id, { payment_method: 'pix', received: '38,77' })
      const open = 'R$ 61,23'
      expect(await list()).to.include(`1 conta, ${open}`)
      expect((await user.get(`${PATH}.csv`)).html).to.include(';100,00;38,77;61,23;')
      expect(textIn((await user.get(`/painel/${parties}/${id}`)).html)).to.include(`${open} 1 conta`)
      expect(textIn((await user.get(`${PATH}/em-aberto`)).html)).to.include(`Em aberto ${open} 1 conta`)
      expect(textIn((await user.get('/painel')).html)).to.include(open)
      const { data } = (await company.get(`/finance/summary?from=${today}&to=${today}`)).body
      expect(data[`${name}s`]).to.deep.equal({
        pending: { count: 1, amount: '61.23' },
        overdue: { count: 0, amount: '0.00' },
        settled: { count: 1, amount: '38.77' },
      })
    })

    it('lists pending accounts by due date, with their total', async () => {
      await account({ description: 'Depois', due_date: addDays(today, 2), amount: '1000.00' })
      await account({ description: 'Hoje', due_date: today })
      await account({ description: 'Atrasada', due_date: addDays(today, -1), [`${party}_id`]: await partyId('Maria') })
      const paid = await account({ description: 'Feita' })
      await settle(paid.id, { payment_method: 'pix' })
      const shown = await list()
      expect(shown)
        .to.match(/Atrasada .* Maria .* Vencida Hoje .* Pendente Depois .* Pendente/)
        .and.not.to.include('Feita')
      expect(shown).to.include('3 contas, R$ 1.020,00 (vencidas: 1, R$ 10,00)')
      expect(await list('?view=overdue'))
        .to.include('1 conta, R$ 10,00')
        .and.not.to.include('Hoje')
      expect(await list('?view=settled'))
        .to.include('Feita')
        .and.include(done)
        .and.not.to.include('Hoje')
      expect(await list('?view=all')).to.match(/Feita .*Atrasada .*Hoje .*Depois /)
      expect(await list(`?due_from=${today}&due_to=${today}`))
        .to.include('Hoje')
        .and.not.to.include('Depois')
      expect(await list('?party_name=mar'))
        .to.include('Atrasada')
        .and.not.to.include('Hoje')
      // A deleted party has its name on its accounts alone (PERSON-10).
      const gone = await partyId('Íris Sá')
      await account({ description: 'De quem saiu', [`${party}_id`]: gone })
      await company.call('DELETE', `/${party}s/${gone}?force=true`)
      for (const query of ['?party_name=iris', '?view=all&party_name=IRIS%20sa'])
        expect(await list(query), query)
          .to.include('De quem saiu')
          .and.include('1 conta')
          .and.not.to.include('Hoje')
      expect(await list('?party_name=mar')).not.to.include('De quem saiu')
      // Invalid filters show an error at their field and an empty list [PANEL-109].
      for (const query of ['due_from=2027-13-01', 'due_from=2026-03-02&due_to=2026-03-01']) {
        const { html } = await user.get(`${PATH}?${query}`)
        const [, name] = /data-field="campo-(\w+)"/.exec(html) ?? []
        expect(name, query).to.equal(query.split(/[&=]/).at(-2))
        expect(html).to.match(new RegExp(`<input id="campo-${name}"[^>]*aria-invalid="true"`))
        expect(textIn(html)).to.include('Nenhuma conta encontrada.')
      }
    })

    // Both sides are the same pages: the rest is tested on one of them.
    if (name === 'payable') return

    it('finds parties by name, document and phone, with what tells them apart [PANEL-450]', async () => {
      const owing = await partyId('Maria da Silva')
      await company.post(`/${party}s`, { name: 'Mária Souza', document: '52998224725', phone: '11987654321' })
      await partyId('João')
      await account({ [`${party}_id`]: owing, amount: '7.50' })
      const choices = async (text: string) => {
        const { html } = await user.get(`${PATH}/novo?${party}_id=${encodeURIComponent(text)}`)
        return [...html.matchAll(/<label class="choice">.*?<\/label>/g)].map(([label]) => textIn(label).trim())
      }
      const souza = 'Mária Souza 529.982.247-25 · (11) 98765-4321'
      expect(await choices('MARIA')).to.deep.equal([
        `Maria da Silva ${party === 'customer' ? 'deve' : 'a pagar'} R$ 7,50`,
        souza,
      ])
      expect(await choices('529.982.247')).to.deep.equal([souza])
      expect(await choices('98765-4321')).to.deep.equal([souza])
      expect(await choices('')).to.deep.equal([])
    })

    it('takes the chosen party while the text finds it, and asks otherwise [PANEL-450]', async () => {
      const silva = await partyId('Maria da Silva')
      const souza = await partyId('Maria Souza')
      const joao = await partyId('João')
      const asked = await create({ [`${party}_id`]: 'maria' })
      expect(asked.status).to.equal(422)
      expect(problemsIn(asked.html)[1]).to.include('escolha um dos encontrados')
      for (const id of [silva, souza]) expect(asked.html).to.include(`type="radio" name="${party}_id" value="${id}"`)
      expect((await create({ [`${party}_id`]: ['maria', String(joao)] })).status).to.equal(422)
      expect(problemsIn((await create({ [`${party}_id`]: 'Xavier\u0001' })).html)[1]).to.include('cadastre antes')
      expect((await company.get(api1)).body.data).to.deep.equal([])
      expect((await create({ [`${party}_id`]: ['maria', String(souza)] })).status).to.equal(303)
      const [created] = (await company.get(api1)).body.data
      expect(created).to.include({ [`${party}_id`]: souza })
      const edit = { description: 'Aluguel', amount: '10,00', due_date: addDays(today, 5) }
      await user.submit(`${PATH}/${created.id}/editar`, { ...edit, [`${party}_id`]: ['Maria', String(silva)] })
      expect(await inApi(created.id)).to.include({ [`${party}_id`]: silva })
    })

    it('names invalid or taken fields, and changes nothing', async () => {
      const { status, html } = await create({ description: '', amount: '0', due_date: '2027-02-30' })
      expect(status).to.equal(422)
      expect(problemsIn(html).map((problem) => problem.split(':')[0])).to.deep.equal([
        'Confira os campos indicados.',
        'Descrição',
        'Valor (R$)',
        'Vencimento',
      ])
      await account({ external_id: 'X' })
      const taken = await create({ external_id: 'X' })
      expect(taken.status).to.equal(409)
      expect(problemsIn(taken.html)).to.include('Código externo: já existe um cadastro com este valor')
      expect((await company.get(api1)).body.data).to.have.length(1)
    })

    it('changes only edited fields; the party is kept, replaced or removed [PANEL-11]', async () => {
      await partyId('João')
      const { id } = await account({ [`${party}_id`]: await partyId('Maria') })
      const edit = `${PATH}/${id}/editar`
      const { html } = await user.get(edit)
      expect(html).to.include('value="Maria"')
      await company.call('PATCH', `${api1}/${id}`, { description: 'Da API' })
      const form = { ...hiddenFields(html, edit), description: 'Aluguel', amount: '12', due_date: addDays(today, 5) }
      expect((await user.post(edit, { ...form, [`${party}_id`]: 'Maria' })).status).to.equal(303)
      expect(await inApi(id)).to.include({ description: 'Da API', amount: '12.00', [`${party}_name`]: 'Maria' })
      const change = (called: string) =>
        user.submit(edit, {
          description: 'Da API',
          amount: '12,00',
          due_date: addDays(today, 5),
          [`${party}_id`]: called,
        })
      await change('joão')
      expect(await inApi(id)).to.include({ [`${party}_name`]: 'João' })
      await change('')
      expect(await inApi(id)).to.include({ [`${party}_id`]: null, amount: '12.00' })
    })

    it('is split into instalments by the form', async () => {
      const wrong = await create({ amount: '0,02', 'installments.count': '3' })
      expect(problemsIn(wrong.html)[1]).to.match(/^Parcelas: /)
      const { to } = await create({ amount: '100', due_date: '2026-01-31', 'installments.count': '3' })
      const { data } = (await company.get(api1)).body
      const due = data.map((each: Json) => [each.due_date, each.amount])
      expect(due).to.deep.equal([
        ['2026-01-31', '33.34'],
        ['2026-02-28', '33.33'],
        ['2026-03-31', '33.33'],
      ])
      expect(textIn((await user.get(to ?? '')).html))
        .to.include('Parcela 1/3')
        .and.include('2/3 28/02/2026 R$ 33,33')
      await create({ 'installments.count': '2', 'installments.interval': '10' })
      const days = (await company.get(`${api1}?due_from=${today}`)).body.data.map((each: Json) => each.due_date)
      expect(days).to.deep.equal([today, addDays(today, 10)])
    })

    it('repeats each month by the form, and shows the next twelve [ACCT-1275]', async () => {
      const until = addMonths(today, 14)
      const { to } = await create({ description: 'Aluguel', amount: '900', due_date: today, repeat_until: until })
      const { data } = (await company.get(`${api1}?limit=100`)).body
      expect(data.map((each: Json) => each.due_date)).to.deep.equal(
        Array.from({ length: 15 }, (_, n) => addMonths(today, n)),
      )
      const page = textIn((await user.get(to ?? '')).html)
      expect(page).to.include('Próximas contas').and.include('12/15').and.not.include('13/15')
    })

    it('shows the payment method that another system has named', async () => {
      const { id } = await account()
      const body = { payment_method: 'Cartão da loja' }
      const settled = await company.post(`${api1}/${id}/settle`, body, { 'idempotency-key': `settle-${PATH}-${id}` })
      expect(settled.status, settled.text).to.equal(200)
      expect(textIn((await user.get(`${PATH}/${id}`)).html)).to.include('Forma de pagamento Cartão da loja')
    })

    it('is received by the company’s own ways of paying [PANEL-431]', async () => {
      await company.post('/sales/payment-types', { name: 'Maquininha azul', kind: 'card' })
      await company.post('/sales/payment-types', { name: 'Espécie', kind: 'cash' })
      const { id } = await account()
      const { html } = await user.get(`${PATH}/${id}/liquidar`)
      const options = [...html.matchAll(/<option value="([^"]+)"[^>]*>([^<]+)</g)].map(
        ([, value, name]) => `${value}=${name}`,
      )
      expect(options).to.include.members([
        'Maquininha azul=Maquininha azul',
        'cash=Espécie',
        'bank_slip=Boleto bancário',
      ])
      expect(options).not.to.include('cash=Dinheiro')
      await settle(id, { payment_method: 'Maquininha azul' })
      expect(await inApi(id)).to.include({ status: 'settled', payment_method: 'Maquininha azul' })
    })

    it('refuses a settlement without a method, with a stale amount, or of a settled account', async () => {
      const { id } = await account()
      const at = `${PATH}/${id}/liquidar`
      expect(problemsIn((await settle(id, { payment_method: '' })).html)[1]).to.match(/^Forma de pagamento: /)
      expect((await settle(id, { payment_method: 'fiado' })).status).to.equal(422)
      expect(problemsIn((await settle(id, { payment_method: 'pix', paid_at: 'ontem' })).html)[1]).to.match(
        /^Data e hora: /,
      )
      const { html } = await user.get(at)
      await company.call('PATCH', `${api1}/${id}`, { amount: '11.00' })
      const late = await user.post(at, { ...hiddenFields(html, at), payment_method: 'pix' })
      expect(late.status).to.equal(422)
      expect(problemsIn(late.html)[0]).to.include('O valor da conta mudou')
      expect(textIn(late.html)).to.include(`${act} R$ 11,00`)
      expect((await inApi(id)).status).to.equal('pending')
      await settle(id, { payment_method: 'pix' })
      const again = await settle(id, { payment_method: 'cash' })
      expect(again.status).to.equal(409)
      expect(problemsIn(again.html)).to.deep.equal(['A conta já está quitada.'])
      const changed = { description: 'Outra', amount: '11,00', due_date: addDays(today, 5) }
      expect((await user.submit(`${PATH}/${id}/editar`, changed)).status).to.equal(409)
      expect((await user.submit(`${PATH}/${id}/excluir`, {})).status).to.equal(409)
      expect(await inApi(id)).to.include({ payment_method: 'pix', description: 'Aluguel' })
    })

    it('deletes after confirmation, once', async () => {
      const { id } = await account()
      const at = `${PATH}/${id}/excluir`
      const form = hiddenFields((await user.get(at)).html, at)
      for (let n = 0; n < 2; n++) expect((await user.post(at, form)).to).to.equal(`${PATH}?feito=conta-excluida`)
      expect((await user.get(`${PATH}/${id}`)).status).to.equal(404)
    })

    it('pages through each view without gaps or repetitions [PANEL-16]', async () => {
      const items = Array.from({ length: 110 }, (_, n) => ({
        external_id: `x${n}`,
        description: `Conta <${n}>`,
        amount: '1.00',
        due_date: addDays(today, -1 - (n % 7)),
      }))
      await company.post(`${api1}/batch`, { items })
      const pay = ({ id }: Json) =>
        company.post(`${api1}/${id}/settle`, { payment_method: 'pix' }, { 'idempotency-key': `settle-${id}` })
      await Promise.all((await company.get(`${api1}?limit=55`)).body.data.map(pay))
      for (const [view, count] of [
        ['', 55],
        ['overdue', 55],
        ['settled', 55],
        ['all', 110],
      ] as const) {
        const found: string[] = []
        for (let next: string | null = `${PATH}?view=${view}`; next; ) {
          const { html } = await user.get(next)
          found.push(...(html.match(/Conta &lt;\d+>/g) ?? []))
          next = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? null
        }
        expect(found, view).to.have.length(count)
        expect(new Set(found).size, view).to.equal(count)
      }
    })

    it('shows an account and the list at an earlier revision', async () => {
      const { id } = await account()
      const { headers } = await company.get('/me')
      await settle(id, { payment_method: 'pix' })
      const at = `em=${headers.get('x-ledger-revision')}`
      const { html } = await user.get(`${PATH}/${id}?${at}`)
      expect(textIn(html)).to.include('Situação Pendente')
      expect(html).not.to.include('/liquidar')
      expect(textIn((await user.get(`${PATH}?${at}`)).html))
        .to.include('Aluguel')
        .and.include('1 conta, R$ 10,00')
    })
  })
}

describe('panel: receivable of a sale', () => {
  const { api, company, user } = usePanelUser('manager')

  it('can be settled here although the API refuses it, and links who may open it to its sale [PANEL-1346]', async () => {
    const counter = await openCounter(company)
    await upload(await openTill(api.url, company), [counter.onAccount('pdv-1')])
    const [{ id, sale_id }] = (await company.get('/finance/receivables')).body.data
    const settlement = { payment_method: 'pix' }
    const refused = await company.post(`/finance/receivables/${id}/settle`, settlement, {
      'idempotency-key': 'by-the-api',
    })
    expect(refused.status).to.equal(409)
    const path = `/painel/contas-a-receber/${id}`
    const { html } = await user.get(path)
    expect(html).to.include(`<a href="/painel/vendas/${sale_id}">Venda ${sale_id}</a>`)
    const clerk = await panelUser(api, company, 'clerk')
    expect((await clerk.get(`/painel/vendas/${sale_id}`)).status).to.equal(404)
    const shown = (await clerk.get(`/painel/contas-a-receber/${id}`)).html
    expect(textIn(shown)).to.include(`Venda ${sale_id}`)
    expect(shown, '[PANEL-1346]').not.to.include(`href="/painel/vendas/${sale_id}"`)
    const { description } = (await company.get(`/finance/receivables/${id}`)).body.data
    const later = { description, amount: '10,00', due_date: '2027-01-01' }
    expect((await user.submit(`${path}/editar`, later)).to).to.equal(`${path}?feito=alterado`)
    expect((await user.submit(`${path}/liquidar`, { payment_method: 'cash' })).to).to.equal(`${path}?feito=liquidada`)
    const settled = (await company.get(`/finance/receivables/${id}`)).body.data
    expect(settled).to.include({ status: 'settled', payment_method: 'cash', origin: 'sale', due_date: '2027-01-01' })
  })
})
