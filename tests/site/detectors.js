// What can be seen to be wrong with a loaded page. Each function returns its findings as texts; none means that all is well.
({
  // Mathematics that MathJax couldn't read, and mathematics that it never set.
  texErrors() {
    const found = [];
    const note = (what, element) => found.push(`${what}: ${element.textContent.slice(0, 80)}`);
    for (const e of document.querySelectorAll('mjx-merror')) note('TeX error', e);
    for (const e of document.querySelectorAll('mjx-mtext'))
      if (getComputedStyle(e).color === 'rgb(255, 0, 0)') note('unknown TeX command', e);
    for (const e of document.querySelectorAll('.math'))
      if (!e.querySelector('mjx-container')) note('mathematics not set', e);
    return found;
  },

  // A page wider than its window, with the first elements that stick out.
  overflow() {
    const width = document.scrollingElement.scrollWidth;
    if (width <= innerWidth) return [];
    const wide = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1);
    const names = wide.slice(0, 5).map(e => `${e.tagName.toLowerCase()}.${e.className}`);
    return [`page is ${width} px wide in a window of ${innerWidth}: ${names.join(', ')}`];
  },

  // Displayed formulas that fill more than 95 % of a wide window's column: the next reader's would be cut off at its end.
  cutFormulas() {
    const widthOf = box => {
      if (box.scrollWidth > box.clientWidth + 1) return box.scrollWidth;
      // A formula with a number is set as wide as its column, and MathJax writes down how wide it has to be.
      if (box.hasAttribute('width')) return parseFloat(getComputedStyle(box).minWidth);
      return box.querySelector('mjx-math').getBoundingClientRect().width;
    };
    return [...document.querySelectorAll('mjx-container[display]')]
      .filter(e => e.checkVisibility() && widthOf(e) > 0.95 * e.clientWidth)
      .map(e => `formula of ${Math.round(widthOf(e))} px in ${e.clientWidth} px: ${e.textContent.slice(0, 80)}`);
  },

  // Text for which the page asks for a font of the machine's before one that the page has brought.
  machineFonts() {
    const brought = new Set([...document.fonts].filter(f => f.status === 'loaded').map(f => f.family.replaceAll('"', '')));
    const found = new Map();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode.data.trim();
      const e = texts.currentNode.parentElement;
      if (!text || !e.checkVisibility() || e.closest('mjx-assistive-mml')) continue; // that is shown to no one
      const family = getComputedStyle(e).fontFamily.split(',')[0].replaceAll('"', '');
      if (!brought.has(family) && !found.has(family)) found.set(family, `font of the machine, ${family}: ${text.slice(0, 40)}`);
    }
    return [...found.values()];
  },

  // Images in the text that a screen reader would pass over. Without a text of its own, Sphinx gives an image its file's name.
  imagesWithoutAlt() {
    return [...document.querySelectorAll('article img')]
      .filter(e => !e.alt.trim() || e.alt === e.getAttribute('src'))
      .map(e => `image without alternative text: ${e.getAttribute('src')}`);
  },

  // A page that stays light for a reader whose machine asks for dark colours.
  notDark() {
    const background = getComputedStyle(document.body).backgroundColor;
    const [r, g, b] = background.match(/[0-9.]+/g).map(Number);
    return r + g + b > 3 * 80 ? [`light background in dark mode: ${background}`] : [];
  },

  // Text whose contrast with what lies behind it is below WCAG's 4.5 for body text.
  faintText() {
    const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const known = new Map(); // reading a pixel back is slow, and a page has few colours
    const rgba = colour => {
      if (!known.has(colour)) {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
        known.set(colour, [r, g, b, a / 255]);
      }
      return known.get(colour);
    };
    const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
    const backs = new Map([[null, [255, 255, 255]]]);
    const behind = element => {
      if (!backs.has(element))
        backs.set(element, over(rgba(getComputedStyle(element).backgroundColor), behind(element.parentElement)));
      return backs.get(element);
    };
    const luminance = colour => {
      const [r, g, b] = colour.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = new Map();
    const texts = document.createTreeWalker(document.querySelector('article') || document.createElement('article'), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode.data.trim();
      const e = texts.currentNode.parentElement;
      if (!text || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (e.closest('mjx-assistive-mml, .headerlink')) continue; // shown to no one, or only under the pointer
      const style = getComputedStyle(e);
      const ink = e.closest('svg') ? style.fill : style.color;
      const back = behind(e);
      const [a, b] = [luminance(back), luminance(over(rgba(ink), back))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const place = `${e.tagName.toLowerCase()}.${style.color} in .${e.parentElement.className}`;
      if (ratio < 4.5 && !found.has(place)) found.set(place, `faint text (${ratio.toFixed(1)}): ${place}: ${text.slice(0, 40)}`);
    }
    return [...found.values()];
  },

  // For axe-core's sake, half of whose time is the contrast between links and the text around them: a link has to stand out
  // by more than its colour, whatever that contrast is. So axe-core finds what it would, and more. Finds nothing.
  strictLinks() {
    axe.configure({ rules: [{ id: 'link-in-text-block', any: ['link-in-text-block-style'] }] });
    return [];
  },

  // For axe-core's sake, which takes time for every element: no formula keeps its inside, only its size, and code and
  // signatures keep their words alone. `faintText` has seen their colours. Finds nothing.
  flatten() {
    const formulas = [...document.querySelectorAll('mjx-math')].map(e => [e, e.getBoundingClientRect()]);
    for (const [e, { width, height }] of formulas) {
      e.replaceChildren();
      e.style.cssText = `display: inline-block; width: ${width}px; height: ${height}px`;
    }
    for (const e of document.querySelectorAll('mjx-assistive-mml, pre, code, .sig-param')) e.textContent = e.textContent;
    return [];
  },

  // What axe-core finds against, of any impact.
  async axe(options) {
    // At the next frame, sizes have been told to those who watch them. Chromium's compositor can stall: then no frame comes.
    await Promise.race([new Promise(requestAnimationFrame), new Promise(done => setTimeout(done, 5000))]);
    const { violations } = await axe.run({ ...options, resultTypes: ['violations'], preload: false, iframes: false });
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ html, target, any, all, none }) => {
        const why = [...any, ...all, ...none].map(({ message }) => message).join('; ');
        return `axe-core, ${id} (${impact}) in a window of ${innerWidth}: ${target}: ${html.slice(0, 160)}: ${why}`;
      }));
  },

  // All of the page, but for contrasts: nine tenths of axe-core's time, they are left to `faintText` and `axeAround`.
  axeWhole() {
    return this.axe({ rules: { 'color-contrast': { enabled: false } } });
  },

  // What stands around the article, contrasts too. The article goes away, all but its heading.
  axeAround() {
    this.removeArticle();
    return this.axe({});
  },

  // The contrasts alone, where `axeWhole` has seen the rest.
  axeContrastAround() {
    this.removeArticle();
    return this.axe({ runOnly: ['color-contrast'] });
  },

  removeArticle() {
    const article = document.querySelector('article');
    article?.replaceChildren(...article.querySelectorAll('h1'));
  },
})