using System.Net.Http.Headers;
using Newtonsoft.Json;
using Tillbook;

// The calls of ../programs/*.ts with the client that NSwag generates: prints what the test expects.
var http = new HttpClient();
http.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KEY"));
var tillbook = new TillbookClient(http);
tillbook.BaseUrl = Environment.GetEnvironmentVariable("BASE") + "/api/v1";

var customer = (await tillbook.CreateCustomerAsync(null, new CustomerInput { Name = "Maria da Silva" })).Data;
var item = (await tillbook.CreateCatalogItemAsync(null, null, new CatalogItemInput
{
    Name = "Café torrado 500 g",
    Price = "18.90",
    Stock = "10",
    Gtin = "SEM GTIN",
})).Data;

var cash = (await tillbook.ListPaymentTypesAsync(null, null)).Data.First(type => type.Is_cash);
var order = new SaleInput
{
    External_id = "PEDIDO-1",
    Customer_id = customer.Id,
    Items = [new SaleItemInput { Catalog_item_id = item.Id, Quantity = "2" }],
    Payments = [new SalePaymentInput { Payment_type_id = cash.Id, Amount = "40.00" }],
};
var sale = (await tillbook.CreateSaleAsync("PEDIDO-1", order)).Data;
var replayed = (await tillbook.CreateSaleAsync("PEDIDO-1", order)).Data;
var cancelled = (await tillbook.CancelSaleAsync(sale.Id, null, new SaleCancellationInput { Reason = "Cliente desistiu" })).Data;

var names = new List<string>();
string cursor = null;
do
{
    var page = await tillbook.ListCustomersAsync(2, cursor, null, null, null, null, null, null, null, null);
    names.AddRange(page.Data.Select(one => one.Name));
    cursor = page.Meta.Next_cursor;
} while (cursor != null);

var receivable = (await tillbook.CreateReceivableAsync(null, new ReceivableInput
{
    Description = "Pedido 1",
    Amount = "37.80",
    Due_date = new DateTimeOffset(2030, 1, 10, 0, 0, 0, TimeSpan.Zero),
})).Data;
var settled = (await tillbook.SettleReceivableAsync(receivable.Id, "NF-1", new Settlement
{
    Payment_method = "pix",
})).Data;

var webhook = (await tillbook.RegisterWebhookAsync(null, new RegisterWebhookInput
{
    Url = "https://tillbook.example/hook",
    Events = [Events3.Sale_completed],
})).Data;

string refused;
try
{
    await tillbook.GetCustomerAsync(999_999_999, null, null);
    refused = "nothing";
}
catch (ApiException problem)
{
    refused = $"{problem.StatusCode}";
}

Console.WriteLine(JsonConvert.SerializeObject(new
{
    customer = new { name = customer.Name, email = customer.Email },
    item = new { gtin = item.Gtin, stock = item.Stock },
    sale = new { total = sale.Total, change = sale.Change, is_same = sale.Id == replayed.Id },
    cancelled = new { status = $"{cancelled.Status}", reason = cancelled.Cancel_reason },
    names,
    settled = new { status = $"{settled.Status}", method = $"{settled.Payment_method}" },
    webhook = new { url = webhook.Url, secret = webhook.Secret[..6] },
    refused,
}));
