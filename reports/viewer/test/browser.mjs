// The machine's Chromium, with everything watched that a page must not do.
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";

/** Opens FILE; `problems` collects errors of the console and requests beside the file itself. */
export async function openPage(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  const url = pathToFileURL(file).href;
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`page: ${error.message}`));
  page.on("request", (request) => request.url().split("#")[0] !== url && problems.push(`request: ${request.url()}`));
  await page.goto(url);
  await page.waitForSelector("main");
  return { page, problems, close: () => context.close() };
}

export async function launch(executable) {
  return chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--disable-gpu"] });
}
