"""Tests that need a tool which others trust, minutes, or the comparison of two measured times: `make long` runs them.

The ordinary tests hold on any machine, however busy; these may fail on one that somebody else slows down, so nobody
waits for them before a change is merged. They run each night. The folders are those of `tests`.

Each has a short twin under `tests`, which runs the same code once and asserts what does not depend on time. What only
a GPU, a tool or a compiler makes long has a stand-in there; rungs on hosts, and one that is killed, run on their page,
which `make short` executes. `tests/test_twins.py` holds this table:

=================================  ====================================================================================
here                               twins in `tests`
=================================  ====================================================================================
compilers/test_cuda_graphs.py      compilers/test_cuda_graphs.py
compilers/test_deploy.py           slow/compilers/test_deploy.py
compilers/test_price.py            slow/compilers/test_price.py
concise/test_hybrid.py             concise/test_rungs.py slow/concise/test_rungs.py
concise/test_rungs.py              concise/test_rungs.py slow/concise/test_rungs.py
concise/test_slurm.py              slow/concise/test_batch_file.py
concise/test_still.py              slow/concise/test_diagnosis.py
conftest.py                        test_parts.py
gpu/conftest.py                    gpu/conftest.py
gpu/test_ladder.py                 gpu/test_launched.py
gpu/test_left_out.py               gpu/test_selection.py
gpu/test_on_a_real_gpu.py          gpu/test_in_order.py asynchrony/test_asynchrony.py
gpu/test_on_devices.py             gpu/test_on_devices.py
gpu/test_pasted.py                 gpu/test_pasted.py
gpu/test_pauses.py                 slow/test_tiny_edition.py gpu/test_pauses.py
gpu/test_waits.py                  gpu/test_waits.py
hardware/test_links.py             slow/hardware/test_links.py hardware/test_links.py
hardware/test_processor.py         slow/hardware/test_processor.py
hardware/test_storage.py           slow/hardware/test_storage.py hardware/test_storage.py
hardware/test_stream.py            slow/hardware/test_stream.py hardware/test_stream.py
hardware/test_threads.py           hardware/test_threads.py
kvstore/test_faults.py             slow/kvstore/test_faults.py
kvstore/test_frames.py             slow/kvstore/test_pressure.py slow/kvstore/test_frames.py
kvstore/test_price_of_disk.py      slow/kvstore/test_pressure.py slow/kvstore/test_faults.py
kvstore/test_ray_on_one_node.py    kvstore/test_on_stand_in_ray.py
kvstore/test_ray_on_three_nodes.py kvstore/test_on_stand_in_ray.py
measuring/test_laws.py             measuring/test_laws.py
measuring/test_prediction.py       measuring/test_prediction.py
measuring/test_transformers.py     models/test_zoo.py measuring/test_prediction.py
measuring/test_zoo.py              models/test_zoo.py measuring/test_asking.py measuring/test_prediction.py
multigpu/test_kills.py             slow/multigpu/test_launching.py
servers/test_goodput.py            slow/servers/test_goodput.py
servers/test_ray_sum.py            servers/test_ray_sum.py slow/servers/test_others.py
servers/test_small_operations.py   slow/servers/test_small_operations.py
test_formats.py                    browser/test_pdf.py booktools/formats/test_epub.py
test_network.py                    slow/test_network.py
test_odd_records.py                slow/test_tiny_edition.py booktools/executions/test_odd.py
test_pasted.py                     slow/test_pasted.py
test_plain_notebooks.py            slow/test_plain_notebooks.py
test_reports.py                    slow/test_reports.py
test_short_lines.py                slow/test_tiny_edition.py
test_workflows.py                  test_workflows.py
tools.py                           test_twins.py
=================================  ====================================================================================
"""
