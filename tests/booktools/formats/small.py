"""A book of three small pages, as the site would hold it."""

from __future__ import annotations

from booktools.formats.volume import References, Volume, make_volume

FOOT = """<footer class="dl-foot"><p>© A</p><p>Text: free.</p><p><a href="edit">Suggest a change</a></p></footer>"""
COVER = f"""<html lang="en"><title>A Book</title>
<a class="dl-wordmark"><svg viewBox="0 0 3 2"><path d="M0 0h3"/></svg></a>
<article><section id="index"><h1>A Book<a class="headerlink" href="#index">§</a></h1>
<div class="dl-opening">Opening.</div><div class="dl-begin">Begin</div>
<section id="index-what"><h2>What</h2></section>
<a href="one.html">the first</a> <a href="two.html#id1">the second</a> <a href="search.html">search</a>
</section></article>
{FOOT}</html>"""
ONE = r"""<html lang="en"><script>
    // Settings.
    window.MathJax = { options: {} };
</script><article><section id="one"><h1>One</h1>
<section id="one-a"><h2>A &amp; B</h2><p id="id1">text <a href="#id1">up</a> <a href="two.html#two-b">over</a>
<a href="https://example.org/x">out</a> <a href="#one-verdict">verdict</a></p>
<p><span class="math">\(a &lt; b\)</span></p>
<div class="math"><span class="eqno">(1)</span>\[\frac{a}{b}\]</div>
<div class="dl-claim"><p>It holds.</p><details class="dl-folded"><summary>held on 2</summary>
<ul id="one-verdict"><li>held on M</li></ul></details></div></section>
<section id="one-exercises"><h2>Exercises</h2>
<div class="exercise" id="one-ex-1"><p>Do.</p></div>
<details class="dl-solution" id="one-solution-1"><summary>
<p>Solution to <a href="#one-ex-1">Exercise 1</a></p></summary>
<section><p>Done, by <a href="#id1">this</a>.</p></section></details></section></section></article></html>"""
TWO = """<html lang="en"><article><section id="two"><h1>Two</h1><section id="two-b"><h2>B</h2><p id="id1">text</p>
<div class="cell"><details class="hide"><summary>Code</summary><pre>x</pre></details></div>
<h3>C</h3><figure><div class="dl-figure">
<svg viewBox="0 0 9 9" style="--dl-width:683px;max-width:var(--dl-width)" aria-labelledby="t u"><title id="t">T</title>
<clipPath id="c"></clipPath><path id="u" d="M0 0" clip-path="url(#c)" style="fill: var(--dl-series-1, #0072B2)"/>
<use xlink:href="#u"/></svg></div></figure></section></section></article></html>"""
PAGES = {"index": COVER, "one": ONE, "two": TWO}
REFERENCES = References("Solution on page {page}", "Exercise on page {page}")


def small_volume(address: str = "") -> Volume:
    """Returns the book of these pages."""
    return make_volume(PAGES, str, REFERENCES, address)
